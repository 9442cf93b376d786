// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/nccl/detail/gpu_sum.hpp>
#include <utility>

namespace cohort::detail {

COHORT_NCCL_INLINE gpu_sum::gpu_sum(std::shared_ptr<nccl_ranks> on)
    : on_(std::move(on)), begin_(on_->shared_device()), end_(on_->shared_device()) {}

COHORT_NCCL_INLINE void gpu_sum::start(elements const& data, reduction how, compute_stream const& computed) {
  ended_.store(false);
  on_->start(data, how, computed, begin_, end_);
}

COHORT_NCCL_INLINE bool gpu_sum::done() {
  if (ended_.load(std::memory_order_acquire)) return true;
  if (on_->done(end_)) mark_done();
  return ended_.load();
}

COHORT_NCCL_INLINE gpu_sum::clock::time_point gpu_sum::wait() {
  if (!done()) {
    on_->await(end_);
    mark_done();
  }
  return ended_at_;
}

COHORT_NCCL_INLINE void gpu_sum::mark_done() {
  ended_at_ = clock::now();
  ended_.store(true, std::memory_order_release);  // may be reused from here on
}

}  // namespace cohort::detail
