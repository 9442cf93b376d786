// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn/detail/staging_memory.hpp>

namespace cohort::detail {

staging_memory::~staging_memory() {
  if (memory_) on_->free_page_locked(memory_);
}

std::span<std::byte> staging_memory::reserve(std::size_t wanted) {
  std::size_t const bytes = std::min(wanted, capacity);
  if (bytes > capacity - used_) return {};
  if (!memory_) memory_ = on_->allocate_page_locked(capacity);
  std::byte* const piece = memory_ + used_;
  used_ += (bytes + boundary - 1) / boundary * boundary;
  ++given_;
  return {piece, bytes};
}

}  // namespace cohort::detail
