// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/file_reader.hpp>
#include <cohort/records/record_index.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cohort::detail {

/// Descriptors of files for reading at any offset. At most `most` stay open. When one more is opened, the
/// file that was opened first is closed as soon as no read uses it. Several threads may read.
class open_files {
 public:
  explicit open_files(std::size_t count) : files_(count) {}

  /// Reads bytes of a file.
  ///
  /// Parameters  `size`: size of the whole file when it was indexed.
  /// Errors    file_error.
  void read(std::size_t file, std::string const& path, std::uint64_t size, field_place const& place,
            std::byte* to);

 private:
  static constexpr std::size_t most = 128;

  std::shared_ptr<regular_file const> open(std::size_t file, std::string const& path, std::uint64_t size);

  std::mutex mutex_;
  std::vector<std::shared_ptr<regular_file const>> files_;
  std::deque<std::size_t> order_;  // open files, in the order of opening
};

}  // namespace cohort::detail
