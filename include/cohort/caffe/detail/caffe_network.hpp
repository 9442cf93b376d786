// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/caffe/caffe_model.hpp>
#include <cohort/caffe/prototxt.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Fields of transform_param: TransformationParameter of caffe.proto.
inline constexpr std::array<std::string_view, 7> caffe_transform_fields{
    "scale", "mirror", "crop_size", "mean_file", "mean_value", "force_color", "force_gray"};

/// A layer of a network file, in the format V2.
struct caffe_layer {
  std::string name{};
  std::string type{};
  std::vector<std::string> bottoms{};
  std::vector<std::string> tops{};
  prototxt_message message{};
};

/// Returns the layers of a network in one state, in the order of the file. Layers of the format V1 and the
/// fields `input`, `input_shape` and `input_dim` become layers of the format V2.
///
/// Errors    data_error for a network in the format V0, with layers of two formats, or with a field that
///           layers do not have.
std::vector<caffe_layer> caffe_layers(prototxt_message const& net, caffe_state const& state);

/// Returns today's name of a layer type of the format V1: "Convolution" for CONVOLUTION and for 4.
std::string_view caffe_type_of_v1(std::string_view name);
std::string_view caffe_type_of_v1(std::int64_t number);

/// Throws data_error for a field that the messages of a data layer do not have in caffe.proto or in
/// CaffeOnSpark. data_param, image_data_param and window_data_param also have the transformation's older
/// fields.
void expect_caffe_data_fields(prototxt_message const& layer);

/// Returns whether the type is a source of data: Data, MemoryData, Input, ….
bool is_caffe_data(std::string_view type);

}  // namespace cohort::detail
