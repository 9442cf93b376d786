// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/listener.hpp>
#include <cohort/training/training.hpp>
#include <cstdint>
#include <string>

namespace cohort {

/// Writes a checkpoint every `every` steps (0: never), after a vote for a checkpoint or a stop, and after the
/// last epoch of fit, unless the newest checkpoint is of the same step.
///
/// If the ranks have no common steps (training::has_common_steps), the listener writes each checkpoint at the
/// first meeting after the step in which it is due.
///
/// Order     collective: every rank has a checkpoint_listener with the same settings. The checkpoint_listener
///           must be the last listener, because a checkpoint contains the states of all listeners, and later
///           listeners would not have processed the step yet.
/// Errors    setting_error for invalid settings. If a checkpoint cannot be written (a full disk), the
///           listener logs the error and training continues. The older checkpoints are unchanged; failures()
///           counts the errors.
class checkpoint_listener final : public listener {
 public:
  /// `directory` and `keep`: see save_checkpoint. `to` receives the errors, on rank 0.
  checkpoint_listener(std::string directory, std::int64_t every, int keep = 3, sink to = stderr_sink());

  void on_step(training& run, step_report const& done) override;
  void on_epoch(training& run, epoch_report const& done) override;
  void on_vote(training& run, votes const& all) override;
  /// Returns a text such as "checkpoint every 50 steps", which fit compares between the ranks.
  std::string name() const override;

  /// Path of the newest checkpoint; empty before the first checkpoint.
  std::string const& newest() const { return newest_; }
  /// Step of the newest checkpoint; −1 before the first checkpoint.
  std::int64_t newest_step() const { return saved_step_; }
  /// Error of the last attempt; empty if the attempt succeeded, and before the first attempt.
  std::string const& last_error() const { return last_error_; }
  /// Number of failed attempts.
  std::int64_t failures() const { return failures_; }

 private:
  void save(training& run);

  std::string directory_;
  std::int64_t every_;
  int keep_;
  sink to_;
  std::string newest_;
  std::int64_t saved_step_ = -1;
  std::string last_error_;
  std::int64_t failures_ = 0;
};

}  // namespace cohort
