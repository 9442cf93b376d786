// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/gpu_event.hpp>
#include <cohort/nccl/nccl_ranks.hpp>
#include <memory>
#include <optional>
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
    ended_.reset();
    on_->start(data, how, computed, begin_, end_);
  }

  bool done() override {
    if (!ended_ && on_->done(end_)) ended_ = clock::now();
    return ended_.has_value();
  }
  clock::time_point wait() override {
    if (!ended_) {
      on_->await(end_);
      ended_ = clock::now();
    }
    return *ended_;
  }

 private:
  std::shared_ptr<nccl_ranks> on_;
  gpu_event begin_, end_;
  std::optional<clock::time_point> ended_;
};

}  // namespace cohort::detail
