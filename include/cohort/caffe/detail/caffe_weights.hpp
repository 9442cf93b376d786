// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/detail/implementation.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The part of caffe.proto that contains parameters: NetParameter of a .caffemodel.
namespace cohort::detail {

class protobuf_reader;

/// Limit of Caffe: kMaxBlobAxes.
inline constexpr std::size_t max_caffe_axes = 32;

/// BlobProto. `is_legacy`: the shape is given by num, channels, height and width.
struct caffe_blob {
  std::vector<std::int64_t> dims{};
  std::vector<float> values{};
  bool is_legacy = false;
};

/// A layer with parameters. `type`: today's name of its type.
struct caffe_trained_layer {
  std::string name{};
  std::string type{};
  std::vector<caffe_blob> blobs{};
};

/// Reads a BlobProto to its end.
///
/// Errors    data_error if the number of values differs from the shape.
caffe_blob read_blob(protobuf_reader& reader);

/// Reads the layers of a .caffemodel that have parameters. `file`: its name, for errors.
///
/// Before    the file may be untrusted.
/// Errors    data_error with the file, the byte and the message, if the bytes are not a network of the format
///           V2 or V1, if the number of values differs from the shape, or if the file has more than 2^16
///           layers or blobs.
std::vector<caffe_trained_layer> read_caffemodel(std::string_view bytes, std::string const& file);

/// Returns the bytes of a .caffemodel in the format V2.
std::string write_caffemodel(std::vector<caffe_trained_layer> const& layers);

}  // namespace cohort::detail
