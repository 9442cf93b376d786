// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/interchange/detail/key_runs.hpp>
#include <cohort/interchange/detail/prediction_layout.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/training/predictions.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Writes the part files of one chunk, batch by batch. The files get their final names in commit.
class prediction_part {
 public:
  prediction_part(prediction_layout const& layout, std::size_t chunk);

  /// Appends the rows of the chunk's next batch; `outputs`: one per output of the layout.
  ///
  /// Errors    file_error; data_error that names the example, for a key that is too long or invalid.
  void add(batch const& from, std::span<predictions const> outputs);
  /// Completes the files.
  ///
  /// Before    all examples of the chunk were added.
  void commit();

 private:
  void add_keys(batch const& from);
  void add_csv(batch const& from, std::span<predictions const> outputs);
  void add_npy(std::span<predictions const> outputs);
  void write_text_keys();

  prediction_layout const& layout_;
  std::size_t chunk_;
  std::vector<std::unique_ptr<io::file_writer>> files_;  // CSV, or the outputs' arrays and integer keys
  std::string text_;
  std::uint64_t bytes_ = 0;             // number of bytes written to the CSV file
  std::int64_t row_;                    // index of the next example
  std::vector<std::int64_t> integers_;  // keys of the batch
  std::vector<std::string> texts_;      // keys of the chunk, in NPY
  std::vector<key_entry> entries_;      // keys and rows, if the result is sorted
};

/// Parses a key of type integer.
///
/// Errors    data_error if the key is not an integer. `where`: the key's example, for the error.
std::int64_t parse_integer_key(std::string_view key, std::string const& where);

}  // namespace cohort::detail
