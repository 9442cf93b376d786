// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Owns a graph returned by compute_stream::record.
class recorded_work {
 public:
  recorded_work(std::shared_ptr<compute_stream const> on, CUgraphExec made)
      : on_(std::move(on)), made_(made) {}
  recorded_work(recorded_work const&) = delete;
  recorded_work& operator=(recorded_work const&) = delete;
  /// Waits for the stream and destroys the graph; if waiting fails, the graph is leaked.
  ~recorded_work();

  void run() const { on_->launch(made_); }

 private:
  std::shared_ptr<compute_stream const> on_;
  CUgraphExec made_;
};

}  // namespace cohort::detail
