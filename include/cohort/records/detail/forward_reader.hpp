// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::detail {

/// Reads a file in order through a buffer. Parts that are skipped are not read if they are longer than the
/// buffer.
class forward_reader {
 public:
  explicit forward_reader(std::string const& path);

  std::string const& path() const { return path_; }
  std::uint64_t size() const { return file_.size(); }
  std::uint64_t position() const { return position_; }

  /// Reads the next `bytes` bytes. Returns the number of bytes read: fewer only at the end of the file.
  std::size_t read(void* into, std::size_t bytes);
  /// Continues at byte `offset` of the file.
  void seek(std::uint64_t offset) { position_ = offset; }
  /// Skips bytes.  Before: they are in the file.
  void skip(std::uint64_t bytes) { position_ += bytes; }

 private:
  std::string path_;
  regular_file file_;
  std::uint64_t position_ = 0;
  std::vector<char> buffer_;
  std::uint64_t buffer_begin_ = 0;  // offset in the file
  std::size_t buffered_ = 0;
};

}  // namespace cohort::detail
