// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/detail/step_job.hpp>
#include <cohort/trainer/detail/training_state.hpp>
#include <cohort/trainer/listener.hpp>
#include <cohort/trainer/settings.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace cohort::detail {

/// One call of training::fit: the loop over epochs and steps, and the data that is needed only during the
/// call.
///
/// Order     collective.
class fit_loop {
 public:
  /// Checks the call, prepares plan and loader, restores the listeners' saved states and registers itself as
  /// the active fit of `state`.
  ///
  /// Errors    those of training::fit before the first step.
  fit_loop(training& run, training_state& state, dataset const& data, fit_settings const& how);
  fit_loop(fit_loop const&) = delete;
  fit_loop& operator=(fit_loop const&) = delete;
  ~fit_loop();

  fit_report run();

  /// See training::has_common_steps.
  bool has_common_steps() const { return has_common_steps_; }
  /// Whether a listener's on_step runs now.
  bool is_in_on_step() const { return is_in_on_step_; }
  std::span<listener* const> listeners() const { return how_.listeners; }

 private:
  using clock = std::chrono::steady_clock;
  enum class after_step { next_step, next_epoch, stop };
  /// Workers that missed a deadline may still read this; see training_state::run_workers.
  struct step_data {
    step_data(dataset data, loader_settings settings) : batches(std::move(data), std::move(settings)) {}

    loader batches;
    batch const none{};  // of a rank whose part of a stream has ended
  };
  /// One step of this rank and the votes that the ranks have agreed on after it.
  struct step_result {
    batch const* data;
    step_info now;
    step_outcome done;
    clock::time_point wait_begin, step_begin;
    double wait_seconds;
    bool exchanges_gradients;
    bool met;  // in this step
    agreement agreed;
  };

  static double seconds_since(clock::time_point start);

  void connect_layer_sums(plan const& made);
  void run_epochs();
  after_step run_step(epoch_report& epoch);
  step_result compute_step(batch const& data, clock::time_point wait_begin, double wait_seconds);
  void evaluate_votes(step_result& step);
  bool is_weightless(step_result const& step) const;
  step_report report_of(step_result const& step, std::int64_t step_in_epoch) const;
  votes end_epoch();

  /// Calls the listeners' on_vote. Returns whether the ranks have agreed to stop.
  bool notify_of_votes(votes const& all);
  /// Throws, or logs the skipped step, after a rank has voted not_finite.   Order  collective.
  void reject_non_finite(step_info const& now);
  /// Replaces the examples and the loss of this rank by those of all ranks.   Order  collective.
  void sum_over_ranks(epoch_report& epoch) const;
  /// Sets the step count of every rank to that of the rank that has trained longest. A rank whose part of a
  /// stream has ended may have skipped more steps than the others have made since.
  ///
  /// Order     collective unless has_common_steps(); then it does nothing.
  void align_step_counts();
  void update_plateau(epoch_report const& epoch);
  void finish_pending_without_throwing();
  std::int64_t examples_per_step() const;

  training& run_;
  training_state& state_;
  fit_settings const& how_;
  fit_loop* const enclosing_;
  std::shared_ptr<step_data> data_;
  bool has_common_steps_ = true;
  bool is_in_on_step_ = false;
  std::int64_t last_step_ = 0;  // step count after this rank's last step with examples
  fit_report report_{};
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/fit_loop.ipp>
#endif
