// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/detail/gpu_event.hpp>
#include <cohort/nccl/detail/nccl_ranks.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

/// A sum under way between GPUs. Used again for others.
class gpu_sum final : public activity {
  using clock = std::chrono::steady_clock;

 public:
  explicit gpu_sum(std::shared_ptr<nccl_ranks> on)
      : on_(std::move(on)), begin_(on_->shared_device()), end_(on_->shared_device()) {}

  /// After all that was put into `computed` until now.
  void start(elements const& data, reduction how, compute_stream const& computed) {
    ended_.store(false);
    on_->start(data, how, computed, begin_, end_);
  }

  bool done() override {
    if (ended_.load(std::memory_order_acquire)) return true;
    if (on_->done(end_)) note_end();
    return ended_.load();
  }
  clock::time_point wait() override {
    if (!done()) {
      on_->await(end_);
      note_end();
    }
    return ended_at_;
  }

 private:
  void note_end() {
    ended_at_ = clock::now();
    ended_.store(true, std::memory_order_release);  // and may be in use again from here on
  }

  std::shared_ptr<nccl_ranks> on_;
  gpu_event begin_, end_;
  clock::time_point ended_at_{};
  std::atomic<bool> ended_ = true;
};

}  // namespace cohort::detail
