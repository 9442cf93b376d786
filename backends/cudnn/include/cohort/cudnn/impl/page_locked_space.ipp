// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/page_locked_space.hpp>
#include <cohort/detail/config.hpp>
#include <cstring>

namespace cohort::detail {

COHORT_CUDNN_INLINE std::byte* page_locked_space::allocate(std::size_t bytes) {
  auto const held = on_->lock_queue();
  std::byte* const taken = on_->device().allocate_page_locked(bytes);
  std::memset(taken, 0, bytes);
  return taken;
}

COHORT_CUDNN_INLINE void page_locked_space::deallocate(std::byte* memory) noexcept try {
  on_->wait();
  auto const held = on_->lock_queue();
  on_->device().free_page_locked(memory);
} catch (error const&) {
}

}  // namespace cohort::detail
