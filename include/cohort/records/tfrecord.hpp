// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/records/record_index.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Format of TFRecord files: records with one field, "record", and no keys.
///
/// Errors    file_error; data_error naming file and byte: a length with a wrong checksum, a truncated file, a
///           compressed file. The checksum of a record's content is checked when the record is read.
/// Source    tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details".
record_format tfrecord();

/// One feature of a tf.train.Example: a list of byte strings, of numbers or of integers. The byte strings
/// point into the message.
struct tf_feature {
  std::vector<std::string_view> bytes{};
  std::vector<float> floats{};
  std::vector<std::int64_t> integers{};
};

/// Returns the features of a serialised tf.train.Example.
///
/// Before    `message` outlives the result.
/// Errors    data_error naming `where` if the message is not a tf.train.Example.
std::map<std::string, tf_feature, std::less<>> tf_example(std::span<std::byte const> message,
                                                          std::string_view where);

}  // namespace cohort
