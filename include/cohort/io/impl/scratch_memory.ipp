// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/scratch_memory.hpp>
#include <cohort/io/file_reader.hpp>
#include <cstdlib>
#include <limits>
#include <new>
#include <system_error>

namespace cohort::detail {

int open_scratch_file(std::string const& folder) {
  char const* const what = "cannot make a temporary file in the folder";
  int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  // Some file systems, such as NFS, do not support O_TMPFILE.
  if (errno != EOPNOTSUPP && errno != EISDIR) refuse_file(what, folder, errno);
  std::string path = folder + "/cohort-XXXXXX";
  file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) refuse_file(what, folder, errno);
  ::unlink(path.c_str());
  return file;
}

scratch_memory::scratch_memory(std::string const& folder, std::size_t bytes) : size_(bytes) {
  if (size_ == 0) return;
  if (size_ > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) throw std::bad_alloc();
  int const file = folder.empty() ? -1 : open_scratch_file(folder);
  if (file >= 0) {
    if (int const error_number = ::posix_fallocate(file, 0, static_cast<off_t>(size_)); error_number != 0) {
      ::close(file);
      throw file_error({.what = "cannot reserve space for a temporary file in the folder",
                        .where = folder,
                        .expected = {size_, " bytes"},
                        .got = std::generic_category().message(error_number)});
    }
  }
  int const kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const address = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, kind, file, 0);
  if (file >= 0) ::close(file);  // the mapping keeps the file
  if (address == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(address);
}

scratch_memory::~scratch_memory() {
  if (data_) ::munmap(data_, size_);
}

}  // namespace cohort::detail
