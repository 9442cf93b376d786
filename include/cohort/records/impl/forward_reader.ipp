// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cohort/detail/config.hpp>
#include <cohort/records/detail/forward_reader.hpp>
#include <cstring>

namespace cohort::detail {

COHORT_CORE_INLINE forward_reader::forward_reader(std::string const& path)
    : path_(path), buffer_(std::size_t{1} << 16) {
  regular_file const opened = open_regular_file(path, "cannot read the file");
  file_ = opened.descriptor;
  size_ = opened.size;
}

COHORT_CORE_INLINE forward_reader::~forward_reader() { ::close(file_); }

COHORT_CORE_INLINE std::size_t forward_reader::read(void* into, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    if (position_ < buffer_begin_ || position_ >= buffer_begin_ + buffered_) {
      ssize_t const got = ::pread(file_, buffer_.data(), buffer_.size(), static_cast<off_t>(position_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse_file("cannot read the file", path_, errno);
      buffer_begin_ = position_;
      buffered_ = static_cast<std::size_t>(got);
      if (got == 0) break;
    }
    auto const at = static_cast<std::size_t>(position_ - buffer_begin_);
    std::size_t const part = std::min(bytes - done, buffered_ - at);
    std::memcpy(static_cast<char*>(into) + done, buffer_.data() + at, part);
    done += part;
    position_ += part;
  }
  return done;
}

}  // namespace cohort::detail
