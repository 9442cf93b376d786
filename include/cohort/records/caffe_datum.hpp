// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/records/detail/implementation.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A `Datum` of Caffe: an image or a vector with a class label, as stored by Caffe and CaffeOnSpark.
///
/// Shapes    `data`: channels × height × width bytes, or an image file if `encoded`. `numbers`: channels ×
///           height × width floats. A Datum has either data or numbers.
/// Order     Caffe's convert_imageset writes the channels in the order blue, green, red.
/// Source    github.com/BVLC/caffe, src/caffe/proto/caffe.proto
struct caffe_datum {
  int channels = 0;
  int height = 0;
  int width = 0;
  int label = 0;  ///< class; programs other than Caffe also write negative labels, such as −1 for none
  bool encoded = false;
  std::string_view data{};  ///< points into the message
  std::vector<float> numbers{};

  shape extents() const { return {channels, height, width}; }

  /// Reads a serialised Datum.
  ///
  /// Before    `message` outlives the result.
  /// Errors    data_error naming `where` if the message is not a Datum; those of require_extents.
  static caffe_datum parse(std::span<std::byte const> message, std::string_view where);

  /// Throws data_error naming `where` if the Datum is not encoded and its number of elements differs from
  /// channels · height · width or is 0.
  void require_extents(std::string_view where) const;
};

}  // namespace cohort
