// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/detail/gpu_event.hpp>
#include <cohort/nccl/detail/nccl_ranks.hpp>
#include <memory>

namespace cohort::detail {

/// A sum under way between GPUs. Used again for others.
class gpu_sum final : public activity {
  using clock = std::chrono::steady_clock;

 public:
  explicit gpu_sum(std::shared_ptr<nccl_ranks> on);

  /// After all that was put into `computed` until now.
  void start(elements const& data, reduction how, compute_stream const& computed);

  bool done() override;
  clock::time_point wait() override;

 private:
  void note_end();

  std::shared_ptr<nccl_ranks> on_;
  gpu_event begin_, end_;
  clock::time_point ended_at_{};
  std::atomic<bool> ended_ = true;
};

}  // namespace cohort::detail

#ifndef COHORT_NCCL_COMPILED
#include <cohort/nccl/impl/gpu_sum.ipp>
#endif
