// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/data/batch_view.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/detail/step_job.hpp>
#include <cohort/trainer/detail/training_state.hpp>
#include <cohort/trainer/listener.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace cohort::detail {

/// One step of this rank, and what the ranks have agreed on in it.
struct step_result {
  step_info now{};
  step_outcome done{};
  std::chrono::steady_clock::time_point begin{};
  bool exchanges_gradients = false;
  bool met = false;  // in this step
  agreement agreed{};

  /// Whether no rank had examples left.
  bool has_ended() const { return met && agreed.examples == 0; }
};

/// Makes steps of a run, whole or in parts, and ends epochs: the part that fit, train_on and training_loop
/// share. Votes, reports of numbers that are not finite, and the run's position are treated here.
///
/// Order     collective: info_of (if the number of examples of all ranks is unknown), prepare, step, parts of
///           a step, reject_non_finite, and everything that ends an epoch. After a step: count, then
///           was_skipped.
class step_runner {
 public:
  using clock = std::chrono::steady_clock;

  explicit step_runner(training_state& state) : state_(state) {}

  /// Makes the plan for batches of `examples` examples and, once per training, connects layers that sum over
  /// the whole batch.
  ///
  /// Errors    setting_error if such layers need a strategy that exchanges gradients; memory_error.
  std::shared_ptr<plan const> prepare(int examples, int accumulate = 1);
  /// Refuses a batch that does not fit the network, and fills in `indices` if it has none.
  ///
  /// Errors    shape_error.
  void check(batch_view& data);
  /// Checks once that the ranks have the same network, settings and position.
  void check_ranks_once(char const* call);

  /// Progress for a step on this batch. Sums the examples of all ranks if the batch does not have their
  /// number.
  step_info info_of(batch_view const& data) const;

  /// Makes a whole step. `owner`: of the batch, see training_state::run_workers.
  step_result step(batch_view const& data, step_info const& now, int accumulate,
                   std::shared_ptr<void const> const& owner = nullptr);

  /// Runs `part`, a part of a step of the workers.
  template <class F>
  auto run_part(F part) {
    return state_.run_workers(indices_, part);
  }
  /// Completes the result of a step whose parts were run.
  step_result result_of(step_outcome const& done, step_info now, clock::time_point begin);

  /// Counts the step: in the run's position, and in the sums of the epoch.
  void count(step_result const& step);
  /// Throws after a number that is not finite, or logs the skipped step. Returns whether it was skipped.
  bool was_skipped(step_result const& step);
  /// Throws, or logs the skipped step, after a rank has voted not_finite.
  void reject_non_finite(step_info const& now);
  /// The report of a step outside of fit.
  step_report report_of(step_result const& step) const;
  /// Clears the requests that the ranks have agreed on in a step outside of fit, and returns its report.
  step_report finish(step_result const& step);

  /// Lets the strategy finish what is pending at an epoch's end. Returns the votes of a meeting in this call,
  /// or none.
  votes end_of_epoch();
  /// Votes of all ranks between two epochs, on requests that were made since the last meeting.
  votes meet_between_epochs() const;
  /// Replaces the examples and the loss of this rank by those of all ranks.
  void sum_over_ranks(epoch_report& epoch) const;
  /// Applies reduce_on_plateau and begins the next epoch.
  void begin_next_epoch(epoch_report const& done);
  /// A whole step outside of fit.
  step_report train_on(batch_view data, int accumulate);
  /// Ends an epoch outside of fit.
  epoch_report end_epoch();

 private:
  void connect_layer_sums(plan const& made);
  void evaluate_votes(step_result& step) const;
  bool is_weightless(step_result const& step) const;
  void update_plateau(epoch_report const& epoch);

  training_state& state_;
  /// Workers that missed a deadline may still read this.
  std::shared_ptr<std::vector<std::int64_t>> const indices_ =
      std::make_shared<std::vector<std::int64_t>>();  // of a batch without indices
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/step_runner.ipp>
#endif
