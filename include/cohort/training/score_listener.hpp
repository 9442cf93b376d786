// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/sink.hpp>
#include <cohort/training/detail/mean_loss.hpp>
#include <cohort/training/listener.hpp>
#include <cstdint>

namespace cohort {

/// Logs the loss every `every` steps: "step 200: loss 0.3121".
///
/// Only rank 0 writes, so every rank can have a score_listener.
///
/// Units     the loss is the mean over rank 0's examples since the previous line, without steps that were not
///           finite; "none" if there are no other steps. Steps count over all epochs.
/// Errors    setting_error if `every` is not positive.
class score_listener final : public listener {
 public:
  explicit score_listener(std::int64_t every = 100, sink to = stderr_sink());

  void on_step(training& run, step_report const& done) override;

 private:
  std::int64_t every_;
  sink to_;
  std::int64_t steps_ = 0;
  detail::mean_loss loss_{};
};

}  // namespace cohort
