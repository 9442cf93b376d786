// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cohort {

namespace detail {

[[noreturn]] void refuse_file(std::string what, std::string where, int error_number);

}  // namespace detail

/// A regular file, open for reading, of known size.
///
/// Errors    file_error with path and reason if it cannot be opened or read, or is a directory, device, pipe.
class file_reader {
 public:
  explicit file_reader(std::string path);
  file_reader(file_reader const&) = delete;
  file_reader& operator=(file_reader const&) = delete;
  ~file_reader() { ::close(file_); }

  std::string const& path() const { return path_; }
  /// Bytes in the file when it was opened.
  std::uint64_t size() const { return size_; }

  /// Reads the next bytes; fewer than asked for only at the end of the file.
  std::size_t read(void* into, std::size_t bytes);

 private:
  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

/// The whole of a file as text.
///
/// Errors    file_error as above; data_error if it is longer than `most` bytes, before memory is taken.
std::string read_text(std::string const& path, std::uint64_t most = std::uint64_t{64} << 20);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/file_reader.ipp>
#endif
