// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/communicator.hpp>
#include <cohort/cudnn/detail/gpu_event.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/nccl/detail/nccl_ranks.hpp>
#include <memory>

namespace cohort::detail {

/// A pending sum between GPUs. The object is reused for later sums.
class gpu_sum final : public activity {
  using clock = std::chrono::steady_clock;

 public:
  explicit gpu_sum(std::shared_ptr<nccl_ranks> on);

  /// Starts a sum, which runs after all work that is already enqueued in `computed`.
  void start(elements const& data, reduction how, compute_stream const& computed);

  bool done() override;
  clock::time_point wait() override;

 private:
  void mark_done();

  std::shared_ptr<nccl_ranks> on_;
  gpu_event begin_, end_;
  clock::time_point ended_at_{};
  std::atomic<bool> ended_ = true;
};

}  // namespace cohort::detail
