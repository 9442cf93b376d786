// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

/// A file in memory that has a path, for fuzzers of functions that read files.
class memory_file {
 public:
  memory_file() : file_(::memfd_create("fuzzed", MFD_CLOEXEC)) {
    if (file_ < 0) std::abort();
    path_ = "/proc/self/fd/" + std::to_string(file_);
  }
  memory_file(memory_file const&) = delete;
  memory_file& operator=(memory_file const&) = delete;
  ~memory_file() { ::close(file_); }

  std::string const& path() const { return path_; }
  void set(std::uint8_t const* data, std::size_t size) const {
    if (::ftruncate(file_, static_cast<off_t>(size)) != 0) std::abort();
    if (::pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  }

 private:
  int file_;
  std::string path_;
};
