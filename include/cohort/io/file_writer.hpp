// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace cohort {

namespace detail {

/// Puts on the disk which names are in the folder.
void synchronise_folder(std::string const& folder);

}  // namespace detail

/// Writes a file that exists whole or not at all: under a temporary name in its folder, until `commit`.
///
/// Order     write … write, commit, once; without commit (also when an exception passes) nothing happened.
/// Before    `path` names no file, or a regular one: its permissions are kept, a link to it is followed.
/// After     commit has returned: the bytes and the name are on the disk (file and folder synchronised).
/// Errors    file_error with path and reason (disk full, no such folder, …): the old file is as it was, the
///           temporary one gone. Only if synchronising the folder fails is the new file in place already.
class file_writer {
 public:
  explicit file_writer(std::string path);
  file_writer(file_writer const&) = delete;
  file_writer& operator=(file_writer const&) = delete;
  ~file_writer() { discard(); }

  void write(char const* data, std::size_t bytes);
  void write(std::string_view text);

  void commit();

 private:
  static std::string resolved(std::string path);

  void check_open() const;

  void discard() noexcept;

  [[noreturn]] void refuse(char const* what) const { detail::refuse_file(what, path_, errno); }
  [[noreturn]] void fail(char const* what);

  std::string path_;
  std::string temporary_;
  int file_ = -1;
};

/// Writes a whole file at once, with the promises of file_writer.
void write_file(std::string const& path, std::string_view content);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/file_writer.ipp>
#endif
