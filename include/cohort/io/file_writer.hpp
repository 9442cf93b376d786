// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cerrno>
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace cohort::io {

/// Writes a file atomically: to a temporary file in the same folder, which `commit` renames.
///
/// Order     any number of writes, then one commit. Without commit, the destructor removes the temporary file
///           and the old file remains.
/// Before    `path` does not exist or is a regular file. Permissions are kept; symbolic links are followed.
/// After     commit: contents and name are on the disk (file and folder are synchronised).
/// Errors    file_error with path and reason (disk full, no such folder, …). The old file is then unchanged
///           and the temporary file removed. Exception: if only synchronising the folder fails, the new file
///           is in place.
class file_writer {
 public:
  explicit file_writer(std::string path);
  file_writer(file_writer const&) = delete;
  file_writer& operator=(file_writer const&) = delete;
  ~file_writer() { discard(); }

  /// Appends bytes.
  void write(char const* data, std::size_t bytes);
  void write(std::string_view text);

  /// Synchronises the file with the disk and renames it to `path`.
  void commit();

 private:
  static std::string resolve_links(std::string path);

  void check_open() const;

  void discard() noexcept;

  [[noreturn]] void throw_error(char const* what) const { detail::refuse_file(what, path_, errno); }
  [[noreturn]] void discard_and_throw(char const* what);

  std::string path_;
  std::string temporary_;
  int file_ = -1;
};

/// Writes a whole file atomically; same guarantees and errors as file_writer.
void write_file(std::string const& path, std::string_view content);

}  // namespace cohort::io
