// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <system_error>
#include <utility>

namespace cohort::detail {

void refuse_file(std::string what, std::string where, int error_number) {
  std::string reason = std::generic_category().message(error_number);
  char folder[4096];
  if (error_number == ENOENT && !where.starts_with('/') && ::getcwd(folder, sizeof folder))
    reason += std::string("; the current folder is ") + folder;
  throw file_error(
      {.what = std::move(what), .where = std::move(where), .expected = {}, .got = std::move(reason)});
}

std::size_t read_at(regular_file const& file, std::string const& path, std::uint64_t offset, void* into,
                    std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    ssize_t const count = ::pread(file.descriptor(), static_cast<char*>(into) + done, bytes - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_file("cannot read the file", path, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

regular_file open_regular_file(std::string const& path, char const* what) {
  // O_NONBLOCK, because opening a pipe without a writer would block otherwise.
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) refuse_file("cannot open the file", path, errno);
  struct stat status {};
  int const result = ::fstat(file, &status);
  int const error_number = errno;
  if (result == 0 && S_ISREG(status.st_mode))
    return regular_file(file, static_cast<std::uint64_t>(status.st_size));
  ::close(file);
  if (result != 0) refuse_file("cannot open the file", path, error_number);
  throw file_error({.what = what,
                    .where = path,
                    .expected = "a regular file",
                    .got = S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket"});
}

}  // namespace cohort::detail

namespace cohort::io {

file_reader::file_reader(std::string path)
    : path_(std::move(path)), file_(detail::open_regular_file(path_, "cannot read the file")) {}

void file_reader::expect_at_most(std::uint64_t max_bytes) const {
  if (size() > max_bytes)
    throw file_error({.what = "the file is too large",
                      .where = path_,
                      .expected = {"at most ", max_bytes, " bytes"},
                      .got = {size(), " bytes"}});
}

std::size_t file_reader::read(void* into, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    ssize_t const count = ::read(file_.descriptor(), static_cast<char*>(into) + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) detail::refuse_file("cannot read the file", path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void file_reader::read_exactly(void* into, std::size_t bytes) {
  std::size_t const done = read(into, bytes);
  if (done < bytes)
    throw file_error({.what = "the file became shorter while it was read",
                      .where = path_,
                      .expected = {bytes, " bytes"},
                      .got = {done, " bytes"}});
}

std::string read_text(std::string const& path, std::uint64_t max_bytes) {
  file_reader file(path);
  if (file.size() > max_bytes) {
    throw data_error({.what = "the file is too large",
                      .where = path,
                      .expected = {"at most ", max_bytes, " bytes"},
                      .got = {file.size(), " bytes"}});
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  text.resize(file.read(text.data(), text.size()));
  return text;
}

}  // namespace cohort::io
