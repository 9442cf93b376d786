// SPDX-License-Identifier: Apache-2.0
#include <cohort/nccl/detail/nccl_family.hpp>
#include <utility>

namespace cohort::detail {

nccl_family::~nccl_family() {
  for (std::shared_ptr<nccl_ranks> const& one : ending_) one->wait_for_end();
}

void nccl_family::retire(std::shared_ptr<nccl_ranks> one) {
  one->end();
  std::lock_guard const lock(mutex_);
  std::erase_if(ending_, [](std::shared_ptr<nccl_ranks> const& other) { return other->ended(); });
  ending_.push_back(std::move(one));
}

}  // namespace cohort::detail
