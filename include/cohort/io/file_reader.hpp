// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>
#include <cohort/detail/build_check.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cohort::detail {

/// Throws file_error with the system's text for `error_number`.
[[noreturn]] void refuse_file(std::string what, std::string where, int error_number);

/// An open regular file. The destructor closes it.
class regular_file {
 public:
  regular_file(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  regular_file(regular_file const&) = delete;
  regular_file& operator=(regular_file const&) = delete;
  ~regular_file() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }
  /// Returns the file's size in bytes at the time of opening.
  std::uint64_t size() const { return size_; }

 private:
  int descriptor_;
  std::uint64_t size_;
};

/// Opens a file for reading.
///
/// Errors    file_error if the path cannot be opened; file_error with `what` if it is not a regular file.
regular_file open_regular_file(std::string const& path, char const* what);

/// Reads the `bytes` bytes at `offset` and returns their number, which is smaller only at the end of the
/// file. Several threads may read.
///
/// Parameters  `path`: for the message.
/// Errors    file_error.
std::size_t read_at(regular_file const& file, std::string const& path, std::uint64_t offset, void* into,
                    std::size_t bytes);

}  // namespace cohort::detail

namespace cohort::io {

/// A regular file opened for reading.
///
/// Errors    file_error with path and reason if the path cannot be opened or read, or is not a regular file.
class file_reader {
 public:
  explicit file_reader(std::string path);
  file_reader(file_reader const&) = delete;
  file_reader& operator=(file_reader const&) = delete;

  std::string const& path() const { return path_; }
  /// Returns the file's size in bytes at the time of opening.
  std::uint64_t size() const { return file_.size(); }
  /// Throws file_error if the file is larger than `max_bytes`.
  void expect_at_most(std::uint64_t max_bytes) const;

  /// Reads the next `bytes` bytes and returns their number, which is smaller only at the end of the file.
  std::size_t read(void* into, std::size_t bytes);

  /// Reads the next `bytes` bytes.  Errors: file_error if the file has become shorter.
  void read_exactly(void* into, std::size_t bytes);

 private:
  std::string path_;
  detail::regular_file file_;
};

/// Returns the contents of a file as text.
///
/// Errors    as file_reader. data_error if the file is larger than `max_bytes`; nothing is allocated in that
///           case.
std::string read_text(std::string const& path, std::uint64_t max_bytes = std::uint64_t{64} << 20);

}  // namespace cohort::io
