// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cerrno>
#include <cohort/io/detail/mapped_file.hpp>
#include <cohort/io/file_reader.hpp>

namespace cohort::detail {

mapped_file::mapped_file(std::string const& path) {
  regular_file const file = open_regular_file(path, "cannot map the file");
  size_ = static_cast<std::size_t>(file.size());
  if (size_ > 0) address_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address_ == MAP_FAILED) refuse_file("cannot map the file", path, errno);
}

mapped_file::~mapped_file() {
  if (size_ > 0) ::munmap(address_, size_);
}

}  // namespace cohort::detail
