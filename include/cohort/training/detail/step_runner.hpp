// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/detail/worker_group.hpp>
#include <cohort/training/listener.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohort::detail {

/// Time at which a step began, and the traffic that this rank had sent by then.
struct step_start {
  std::chrono::steady_clock::time_point time{};
  traffic sent{};
};

/// Results of one step of this rank, and the votes on which the ranks have agreed in it.
struct step_result {
  step_info now{};
  step_outcome done{};
  step_start begin{};
  int without_weight = 0;  // number of examples of weight 0
  bool exchanges_gradients = false;
  bool met = false;  // whether the ranks met in this step
  agreement agreed{};

  /// Returns whether no rank had examples left.
  bool has_ended() const { return met && agreed.examples == 0; }
};

/// Makes whole steps or parts of steps of a run, and ends epochs: the common part of fit, train_on and
/// training_loop. Handles votes, reports of losses and gradients that are not finite, and the run's position.
///
/// Order     these calls are collective: info_of (if the number of examples of all ranks is unknown),
///           prepare, step, parts of a step, reject_non_finite, and all functions that end an epoch. After a
///           step, call count, then was_skipped.
class step_runner {
 public:
  using clock = std::chrono::steady_clock;

  explicit step_runner(training_state& state) : state_(state) {}

  /// Returns the plan for batches of `examples` examples. If layers sum over the whole batch, the first call
  /// of a training also connects these layers across workers and ranks.
  ///
  /// Errors    setting_error if there are such layers, several ranks, and a strategy that does not exchange
  ///           gradients; memory_error.
  std::shared_ptr<plan const> prepare(int examples, int accumulate = 1);
  /// The same for a step of a training_loop that computes `kind`, except for its number of examples.
  ///
  /// Errors    also setting_error if the network has layers that sum over the whole batch, and the plan has
  ///           only some of them.
  std::shared_ptr<plan const> prepare(int examples, work_kind kind);
  /// Refuses a batch that does not match the network, rescales the batch, and fills in `indices` if it has
  /// none. `losses`: the loss layers that the step computes; if there are none, targets are removed.
  ///
  /// Errors    shape_error.
  void check(batch_view& data, std::span<int const> losses);
  void check(batch_view& data) { check(data, losses_of(state_.net)); }
  /// Checks once that the ranks have the same network, settings and position.
  void check_ranks_once(char const* call);

  /// Returns the step_info of a step on this batch. If the batch does not contain the number of examples of
  /// all ranks, sums the numbers of all ranks.
  step_info info_of(batch_view const& data) const { return info_of(data, state_.weight_of(data)); }
  /// The same with another weight of the batch.
  step_info info_of(batch_view const& data, double weight) const;

  /// Makes a whole step. `owner`: owner of the batch's memory; see training_state::run_workers.
  step_result step(batch_view const& data, step_info const& now, int accumulate,
                   std::shared_ptr<void const> const& owner = nullptr);

  step_start start() const { return {clock::now(), state_.world->sent()}; }
  /// Runs `part`, one part of a step, on the workers.
  template <class F>
  auto run_part(F part) {
    return state_.run_workers(indices_, part);
  }
  /// Returns the number of examples of weight 0.
  static int without_weight(batch_view const& data);
  /// Returns the result of a step whose parts were run. `without_weight`: number of examples of weight 0.
  step_result result_of(step_outcome const& done, step_info now, step_start const& begin, int without_weight);

  /// Adds the step to the run's position and to the sums of the epoch.
  void count(step_result const& step);
  /// If a loss or gradient was not finite, throws, or logs the skipped step. Returns whether the step was
  /// skipped, for this reason or because all weights were 0.
  bool was_skipped(step_result const& step);
  /// Throws, or logs the skipped step, after a rank has voted not_finite.
  void reject_non_finite(step_info const& now);
  /// The report of a step outside fit.
  step_report report_of(step_result const& step) const;
  /// Clears the requests on which the ranks have agreed in a step outside fit, and returns the step's report.
  step_report finish(step_result const& step);

  /// Calls the strategy's end_of_epoch, which finishes pending exchanges. Returns the votes of a meeting in
  /// this call, or none.
  votes end_of_epoch();
  /// The parts of end_of_epoch: the meeting, and reject_non_finite if a rank has voted not_finite.
  votes meet_at_end();
  void check_votes(votes const& all);
  /// Exchanges, between two epochs, the requests since the last meeting. Returns the votes of all ranks.
  votes meet_between_epochs() const;
  /// Sets examples, weight and loss of an epoch to those of all ranks. Returns the weight of all steps,
  /// including those that were not finite.
  ///
  /// Before    `examples` is the number of this rank's examples.
  double sum_over_ranks(epoch_report& epoch) const;
  /// Applies reduce_on_plateau and begins the next epoch.
  void begin_next_epoch(epoch_report const& done);
  /// Makes a whole step outside fit.
  step_report train_on(batch_view data, int accumulate);
  /// Ends an epoch outside fit.
  epoch_report end_epoch();

 private:
  void connect_layer_sums(plan const& made);
  void evaluate_votes(step_result& step) const;
  step_info info_at_end() const;
  bool is_weightless(step_result const& step) const;
  void update_plateau(epoch_report const& epoch);

  training_state& state_;
  /// Workers that missed a deadline may still read these indices.
  std::shared_ptr<std::vector<std::int64_t>> const indices_ =
      std::make_shared<std::vector<std::int64_t>>();  // indices of a batch without indices
};

}  // namespace cohort::detail
