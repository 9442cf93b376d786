// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// External merge sort of keys: sorted runs in files, merged in a fixed amount of memory.
namespace cohort::detail {

/// A key, and the location of its row.
struct key_entry {
  std::string key;           // compared by its bytes
  std::int64_t row = 0;      // index in the order of examples
  std::uint64_t offset = 0;  // position of the row in the CSV file of its chunk, in bytes
  std::uint64_t bytes = 0;   // length of the row in the CSV file
};

inline constexpr std::size_t longest_key = 1 << 16;

/// Converts an integer to 8 bytes that compare in the order of the integers, and back.
std::string ordered_bytes(std::int64_t number);
std::int64_t integer_of(std::string_view ordered);

/// Sorts entries by key, then by row, and writes them to a file.
///
/// Before    keys have at most longest_key bytes.
void write_key_run(std::string const& path, std::vector<key_entry>& entries);

/// Reads the entries of a file of write_key_run in order.
///
/// Errors    file_error; data_error if the file is damaged.
class key_run_reader {
 public:
  explicit key_run_reader(std::string const& path);
  /// Reads the next entry; false at the end.
  bool next(key_entry& out);

 private:
  void read(void* into, std::size_t bytes);

  io::file_reader file_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t remaining_ = 0;
};

/// Merges several runs into one sorted sequence.
class merged_key_runs {
 public:
  explicit merged_key_runs(std::span<std::string const> paths);
  /// Reads the next entry in ascending order of (key, row); false at the end.
  bool next(key_entry& out);

 private:
  struct source {
    std::unique_ptr<key_run_reader> reader;
    key_entry entry;
  };
  static bool after(source const& a, source const& b);

  std::vector<source> heap_;
};

/// Merges runs into files `prefix`-0.sorted, `prefix`-1.sorted, … until at most `most` runs remain. Returns
/// the paths of the remaining runs. Removes intermediate files after merging them again, but keeps the given
/// files. `progress`: called at least once for each MB written.
std::vector<std::string> reduce_key_runs(std::vector<std::string> runs, std::string const& prefix,
                                         std::size_t most, std::function<void()> const& progress);

}  // namespace cohort::detail
