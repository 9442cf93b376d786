// SPDX-License-Identifier: Apache-2.0
#include <cohort/nccl/detail/gpu_sum.hpp>
#include <utility>

namespace cohort::detail {

gpu_sum::gpu_sum(std::shared_ptr<nccl_ranks> on)
    : on_(std::move(on)), begin_(on_->shared_device()), end_(on_->shared_device()) {}

void gpu_sum::start(elements const& data, reduction how, compute_stream const& computed) {
  ended_.store(false);
  on_->start(data, how, computed, begin_, end_);
}

bool gpu_sum::done() {
  if (ended_.load(std::memory_order_acquire)) return true;
  if (on_->done(end_)) mark_done();
  return ended_.load();
}

gpu_sum::clock::time_point gpu_sum::wait() {
  if (!done()) {
    on_->await(end_);
    mark_done();
  }
  return ended_at_;
}

void gpu_sum::mark_done() {
  ended_at_ = clock::now();
  ended_.store(true, std::memory_order_release);  // may be reused from here on
}

}  // namespace cohort::detail
