// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/records/detail/open_files.hpp>

namespace cohort::detail {

[[noreturn]] void refuse_changed_size(char const* what, regular_file const& file, std::string const& path,
                                      std::uint64_t size) {
  struct stat status {};
  ::fstat(file.descriptor(), &status);
  throw file_error(
      {.what = what, .where = path, .expected = {size, " bytes"}, .got = {status.st_size, " bytes"}});
}

void open_files::read(std::size_t file, std::string const& path, std::uint64_t size, field_place const& place,
                      std::byte* to) {
  std::shared_ptr<regular_file const> const opened = open(file, path, size);
  if (read_at(*opened, path, place.offset, to, place.bytes) < place.bytes)
    refuse_changed_size("the file became shorter after it was indexed", *opened, path, size);
}

std::shared_ptr<regular_file const> open_files::open(std::size_t file, std::string const& path,
                                                     std::uint64_t size) {
  std::lock_guard const lock(mutex_);
  if (files_[file]) return files_[file];
  std::shared_ptr<regular_file const> made(new regular_file(open_regular_file(path, "cannot read the file")));
  if (made->size() != size) refuse_changed_size("the file changed after it was indexed", *made, path, size);
  if (order_.size() == most) {
    files_[order_.front()] = nullptr;
    order_.pop_front();
  }
  order_.push_back(file);
  files_[file] = made;
  return made;
}

}  // namespace cohort::detail
