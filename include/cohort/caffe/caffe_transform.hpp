// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/prototxt.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// The values of a mean file of Caffe (compute_image_mean).
struct caffe_mean {
  shape extents{};  ///< channels × height × width
  std::vector<float> values{};

  /// Reads a mean file: a BlobProto in binary Protocol Buffers.
  ///
  /// Before    the file may be untrusted.
  /// Errors    file_error; data_error naming file and byte if the bytes are not a blob of 3 extents, or of 4
  ///           extents whose first one is 1, with as many values.
  static caffe_mean read(std::string const& path);
  /// Reads the bytes of a mean file. `where`: for errors.
  static caffe_mean parse(std::string_view bytes, std::string const& where);
};

/// Caffe's transformation of an image: subtracts a mean, multiplies by a number, crops and mirrors.
///
/// Shapes    images C×H×W in the channel order of the network (Caffe: blue, green, red).
/// Units     `means`: none, one, or one per channel; or `mean`: one value per element of the whole image.
///           They are subtracted before `scale`. `crop`: height and width of the result; 0: those of the
///           image.
/// Order     with `crop`, the window is random if `crops_randomly`, and in the centre otherwise. With
///           `mirror`, half of the images are mirrored, in tests too, as in Caffe.
/// Errors    from: data_error with file and line for an unknown field or invalid value, or for both kinds of
///           mean; those of caffe_mean. result and write: data_error naming `where` if the image is smaller
///           than the window, or does not fit the mean.
/// Source    github.com/BVLC/caffe, src/caffe/data_transformer.cpp.
struct caffe_transform {
  double scale = 1;
  bool mirror = false;
  int crop = 0;
  bool crops_randomly = false;
  std::vector<float> means{};
  caffe_mean mean{};
  bool force_color = false;  ///< image files are decoded with 3 channels
  bool force_gray = false;   ///< image files are decoded with 1 channel

  /// Reads a message transform_param. `crops_randomly`: whether the phase is TRAIN.
  static caffe_transform from(prototxt_message const& param, bool crops_randomly);

  /// Returns the extents of the result for images of these extents.
  shape result(shape const& image, std::string const& where) const;

  /// Writes the result. `chance`: random numbers of the example.
  void write(std::span<std::uint8_t const> image, shape const& extents, random_stream const& chance,
             std::string const& where, float* to) const;
  void write(std::span<float const> image, shape const& extents, random_stream const& chance,
             std::string const& where, float* to) const;
};

}  // namespace cohort
