// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/data/dataset.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/records/record_set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A record, as passed to a decoder. Fields are read from the file when they are requested.
class record_view {
 public:
  record_view(record_set const& records, std::int64_t index);

  std::int64_t index() const { return index_; }
  std::string_view key() const { return records_.key(index_); }
  /// Describes the record for messages: file, record and key.
  std::string where() const { return records_.where(index_); }
  bool has(std::size_t field) const { return records_.has(index_, field); }

  /// Returns the bytes of a field, which remain valid until this thread reads the next record.
  ///
  /// Errors    those of record_set::read.
  std::span<std::byte const> bytes(std::size_t field);
  /// Like bytes(field), but requires a field of `size` bytes.
  ///
  /// Errors    also data_error naming the record if the field has a different size.
  std::span<std::byte const> bytes(std::size_t field, std::size_t size);
  /// Returns the bytes of a field as text.
  std::string_view text(std::size_t field);
  /// Returns a field that is a decimal integer, such as "cls" of a WebDataset. Spaces and a line end may
  /// follow the number.
  ///
  /// Errors    those of bytes; data_error naming the record if the text is not an integer from `least` to
  ///           `most`.
  std::int64_t integer(std::size_t field, std::int64_t least, std::int64_t most);

 private:
  record_set const& records_;
  std::int64_t index_;
  std::vector<std::vector<std::byte>>& memory_;
};

/// Computes an example from a record: sets every part of `out` by point or fill. Called by several threads.
using record_decoder = std::function<void(record_view& record, example_view& out)>;

/// Action for a record that cannot be read or decoded (data_error).
enum class bad_record { stop, skip };

/// Settings of `decoded_records`.
struct record_decoding {
  bad_record bad = bad_record::stop;
  /// Receives the message of each skipped record.
  sink log{};
  /// Counts the skipped reads: a record that is read in two epochs counts twice. May be null.
  std::shared_ptr<std::atomic<std::int64_t>> skipped{};
};

/// Returns a data set whose examples are decoded from records when they are requested.
///
/// Shapes    `description` describes the parts that `decode` sets.
/// Errors    get: those of `decode`. With bad_record::skip, damaged examples are treated as by skip_damaged.
dataset decoded_records(record_set records, data_description description, record_decoder decode,
                        record_decoding const& how = {});

}  // namespace cohort
