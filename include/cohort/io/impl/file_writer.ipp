// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cstdlib>
#include <utility>

namespace cohort::io {

file_writer::file_writer(std::string path) : path_(resolve_links(std::move(path))) {
  struct stat existing {};
  bool const exists = ::stat(path_.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode)) {
    throw file_error({.what = "cannot write the file",
                      .where = path_,
                      .expected = "a path that does not exist, or a regular file",
                      .got = S_ISDIR(existing.st_mode) ? "a directory" : "a device, pipe or socket"});
  }
  for (int number = 0; file_ < 0; ++number) {
    temporary_ = path_ + ".partial-" + std::to_string(::getpid()) + '-' + std::to_string(number);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && (errno != EEXIST || number == 1000)) throw_error("cannot create the file");
  }
  if (exists && ::fchmod(file_, existing.st_mode & 07777) != 0)
    discard_and_throw("cannot set the file's permissions");
}

void file_writer::write(char const* data, std::size_t bytes) {
  check_open();
  while (bytes > 0) {
    ssize_t const count = ::write(file_, data, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) discard_and_throw("cannot write the file");
    data += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void file_writer::write(std::string_view text) { write(text.data(), text.size()); }

void file_writer::commit() {
  check_open();
  if (::fsync(file_) != 0) discard_and_throw("cannot synchronise the file with the disk");
  if (::close(std::exchange(file_, -1)) != 0) discard_and_throw("cannot synchronise the file with the disk");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) discard_and_throw("cannot rename the temporary file");
  temporary_.clear();
  std::size_t const slash = path_.rfind('/');
  io::synchronise_folder(slash == std::string::npos ? "." : path_.substr(0, slash + 1));
}

std::string file_writer::resolve_links(std::string path) {
  char* const target = ::realpath(path.c_str(), nullptr);
  if (target == nullptr) return path;  // does not exist yet, or open() reports the error
  std::string text = target;
  std::free(target);
  return text;
}

void file_writer::check_open() const {
  if (file_ < 0) {
    throw file_error({.what = "cannot write the file",
                      .where = path_,
                      .expected = "an open file",
                      .got = "a file that was committed or has failed"});
  }
}

void file_writer::discard() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void file_writer::discard_and_throw(char const* what) {
  int const error_number = errno;
  discard();
  detail::refuse_file(what, path_, error_number);
}

void write_file(std::string const& path, std::string_view content) {
  file_writer file(path);
  file.write(content);
  file.commit();
}

}  // namespace cohort::io
