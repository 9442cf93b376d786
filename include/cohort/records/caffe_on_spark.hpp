// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/records/detail/implementation.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

/// The field "key" of a record in a SequenceFile of CaffeOnSpark: a tuple that Java serialised. The field
/// "value" contains the image.
///
/// Shapes    a value that is not encoded has channels × height × width bytes, as in a caffe_datum. Keys of
///           Binary2Sequence have no extents: channels, height and width are 0, and the value is an image
///           file.
/// Source    github.com/yahoo/CaffeOnSpark, LMDB2Sequence.scala, Binary2Sequence.scala and
///           SeqImageDataSource.scala; Java Object Serialization Specification, version 6.0, chapter 6.
struct caffe_on_spark_key {
  std::string id{};
  std::string label{};  ///< usually the class as a decimal number
  int channels = 0;
  int height = 0;
  int width = 0;
  bool encoded = true;

  /// Reads a serialised scala.Tuple2 (id, label), scala.Tuple6 (id, label, channels, height, width, encoded)
  /// or com.yahoo.ml.dl.caffe.Pair (id, label).
  ///
  /// Before    the key may be untrusted: only texts and boxed integers and booleans are read.
  /// Errors    data_error naming `where` and the byte for any other object, or for bytes that are not a Java
  ///           object.
  static caffe_on_spark_key parse(std::span<std::byte const> key, std::string_view where);
};

}  // namespace cohort
