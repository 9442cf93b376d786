// SPDX-License-Identifier: Apache-2.0
#include <cohort/tensor/buffer.hpp>

namespace cohort {

buffer buffer::of_small_pages(std::size_t bytes) {
  buffer memory;
  if (bytes == 0) return memory;
  std::align_val_t const boundary{alignment};
  memory.data_ = {static_cast<std::byte*>(::operator new(bytes, boundary)), release{{}, boundary}};
  memory.bytes_ = bytes;
  detail::clear_small_pages(memory.data_.get(), bytes);
  return memory;
}

}  // namespace cohort
