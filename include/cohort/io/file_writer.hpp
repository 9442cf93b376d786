// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

namespace detail {

/// Puts on the disk which names are in the folder.
inline void synchronise_folder(std::string const& folder) {
  int const handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) refuse_file("cannot write the folder to the disk", folder, errno);
  // EINVAL: a file system that has no such operation.
  int const error_number = ::fsync(handle) == 0 || errno == EINVAL ? 0 : errno;
  ::close(handle);
  if (error_number != 0) refuse_file("cannot write the folder to the disk", folder, error_number);
}

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
  explicit file_writer(std::string path) : path_(resolved(std::move(path))) {
    struct stat old {};
    bool const exists = ::stat(path_.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
      throw file_error({.what = "cannot write the file",
                        .where = path_,
                        .expected = "a new name or a regular file",
                        .got = S_ISDIR(old.st_mode) ? "a directory" : "a device, pipe or socket"});
    }
    for (int number = 0; file_ < 0; ++number) {
      temporary_ = path_ + ".partial-" + std::to_string(::getpid()) + '-' + std::to_string(number);
      file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ < 0 && (errno != EEXIST || number == 1000)) refuse("cannot create the file");
    }
    if (exists && ::fchmod(file_, old.st_mode & 07777) != 0) fail("cannot set the file's permissions");
  }
  file_writer(file_writer const&) = delete;
  file_writer& operator=(file_writer const&) = delete;
  ~file_writer() { discard(); }

  void write(char const* data, std::size_t bytes) {
    check_open();
    while (bytes > 0) {
      ssize_t const count = ::write(file_, data, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("cannot write the file");
      data += count;
      bytes -= static_cast<std::size_t>(count);
    }
  }
  void write(std::string_view text) { write(text.data(), text.size()); }

  void commit() {
    check_open();
    if (::fsync(file_) != 0) fail("cannot write the file to the disk");
    if (::close(std::exchange(file_, -1)) != 0) fail("cannot write the file to the disk");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot give the file its name");
    temporary_.clear();
    std::size_t const slash = path_.rfind('/');
    detail::synchronise_folder(slash == std::string::npos ? "." : path_.substr(0, slash + 1));
  }

 private:
  static std::string resolved(std::string path) {
    char* const target = ::realpath(path.c_str(), nullptr);
    if (target == nullptr) return path;  // nothing there yet, or open will say why not
    std::string text = target;
    std::free(target);
    return text;
  }

  void check_open() const {
    if (file_ < 0) {
      throw file_error({.what = "cannot write the file",
                        .where = path_,
                        .expected = "a file that is being written",
                        .got = "one that was committed or has failed"});
    }
  }

  void discard() noexcept {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  [[noreturn]] void refuse(char const* what) const { detail::refuse_file(what, path_, errno); }
  [[noreturn]] void fail(char const* what) {
    int const error_number = errno;
    discard();
    detail::refuse_file(what, path_, error_number);
  }

  std::string path_;
  std::string temporary_;
  int file_ = -1;
};

/// Writes a whole file at once, with the promises of file_writer.
inline void write_file(std::string const& path, std::string_view content) {
  file_writer file(path);
  file.write(content);
  file.commit();
}

}  // namespace cohort
