// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/records/detail/forward_reader.hpp>
#include <cstring>

namespace cohort::detail {

forward_reader::forward_reader(std::string const& path)
    : path_(path), file_(open_regular_file(path, "cannot read the file")), buffer_(std::size_t{1} << 16) {}

std::size_t forward_reader::read(void* into, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    if (position_ < buffer_begin_ || position_ >= buffer_begin_ + buffered_) {
      buffered_ = read_at(file_, path_, position_, buffer_.data(), buffer_.size());
      buffer_begin_ = position_;
      if (buffered_ == 0) break;
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
