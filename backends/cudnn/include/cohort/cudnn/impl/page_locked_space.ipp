// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/page_locked_space.hpp>
#include <cstring>

namespace cohort::detail {

std::byte* page_locked_space::allocate(std::size_t bytes) {
  auto const held = on_->lock_queue();
  std::byte* const taken = on_->device().allocate_page_locked(bytes);
  std::memset(taken, 0, bytes);
  return taken;
}

void page_locked_space::deallocate(std::byte* memory) noexcept try {
  on_->wait();
  auto const held = on_->lock_queue();
  on_->device().free_page_locked(memory);
} catch (error const&) {
}

}  // namespace cohort::detail
