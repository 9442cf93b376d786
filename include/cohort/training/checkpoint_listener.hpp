// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/training/listener.hpp>
#include <cohort/training/training.hpp>
#include <cstdint>
#include <memory>
#include <string>

namespace cohort {

namespace detail {
class checkpoint_job;
}  // namespace detail

/// Writes a checkpoint every `every` steps (0: never), after a vote for a checkpoint or a stop, and after the
/// last epoch of fit, unless the newest checkpoint is of the same step.
///
/// Training continues while a thread writes the checkpoint: the listener copies parameters, optimizer state
/// and the strategy's state, and the thread writes the copies. A checkpoint that is due before the previous
/// one is complete waits for it. fit waits for the last one. If the state is sharded, training waits for
/// every checkpoint.
///
/// If the ranks have no common steps (training::has_common_steps), the listener writes each checkpoint at the
/// first meeting after the step in which it is due.
///
/// Order     collective: every rank has a checkpoint_listener with the same settings. The checkpoint_listener
///           must be the last listener, because a checkpoint contains the states of all listeners, and later
///           listeners would not have processed the step yet.
/// Moves     at least two allgathervs of less than 1 KB per rank for each checkpoint, in addition to
///           save_checkpoint.
/// Errors    setting_error for invalid settings. If a checkpoint cannot be written (a full disk), the
///           listener logs the error when the next checkpoint is due, or at the end of fit, and training
///           continues. The older checkpoints are unchanged; failures() counts the errors. The same applies
///           if no rank's thread makes progress for 3/4 of the communicator's deadline, and if ranks that the
///           checkpoint needs were lost (elastic_communicator).
class checkpoint_listener final : public listener {
 public:
  /// `directory`, `keep` and `max_age`: see save_checkpoint. `to` receives the errors, on rank 0.
  checkpoint_listener(std::string directory, std::int64_t every, int keep = 3, sink to = stderr_sink(),
                      std::chrono::seconds max_age = {});
  checkpoint_listener(checkpoint_listener const&) = delete;
  checkpoint_listener& operator=(checkpoint_listener const&) = delete;
  /// Waits for a pending checkpoint after an exception that ended fit.
  ~checkpoint_listener() override;

  void on_step(training& run, step_report const& done) override;
  void on_epoch(training& run, epoch_report const& done) override;
  void on_vote(training& run, votes const& all) override;
  void on_end(training& run) override;
  /// Returns a text such as "checkpoint every 50 steps", which fit compares between the ranks.
  std::string name() const override;

  /// Path of the newest checkpoint; empty before the first checkpoint. During fit, a checkpoint that is being
  /// written does not count.
  std::string const& newest() const { return newest_; }
  /// Step of the newest checkpoint; −1 before the first checkpoint.
  std::int64_t newest_step() const { return saved_step_; }
  /// Error of the last attempt; empty if the attempt succeeded, and before the first attempt.
  std::string const& last_error() const { return last_error_; }
  /// Number of failed attempts.
  std::int64_t failures() const { return failures_; }

 private:
  struct progress;

  /// Starts to write a checkpoint, after the previous one. `waits`: also waits for the end.
  void save(training& run, bool waits);
  /// Waits for the pending checkpoint, and compares the results of the ranks. Collective. Returns false if
  /// the thread of a rank is stalled; the checkpoint is then still pending, unless `is_last`.
  bool finish(training& run, bool is_last);
  void report_pending() noexcept;
  void report_removal_error() const;
  void fail(training const& run, std::int64_t step, std::string const& reason);

  std::string directory_;
  std::int64_t every_;
  int keep_;
  sink to_;
  std::chrono::seconds max_age_;
  std::shared_ptr<detail::checkpoint_job> pending_{};
  std::chrono::milliseconds limit_{0};  // of a wait for the thread
  int rank_ = 0;                        // when `pending_` was started
  std::string newest_;
  std::int64_t saved_step_ = -1;
  std::string last_error_;
  std::int64_t failures_ = 0;
};

}  // namespace cohort
