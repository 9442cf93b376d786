// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/training/step_times.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

class training;
struct fit_settings;

/// Results of one step.
///
/// Units     `examples`, `weight` and `loss` are those of this rank. `weight`: step_info::weight; 0 if the
///           loss or a gradient was not finite. `loss`: weighted mean; NaN if no example has a weight. `step`
///           counts from 0 over all epochs. `step_seconds`: the step without the wait for data;
///           `wait_seconds`: the wait for its data; `exchange_seconds`: the part of the step that
///           waited for other ranks. `bytes_sent`, `messages_sent`: what this rank has sent during the step,
///           without late buckets that a listener or an evaluation completes between two steps
///           (`overlap_next_forward`). `steps_in_epoch`: −1 for a stream, and outside fit. `agreed`: the
///           votes on which the ranks have agreed in this step (training::request). `times`: start times of
///           the phases.
struct step_report {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::int64_t steps_in_epoch = -1;
  int examples = 0;
  double weight = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();
  double step_seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  int ranks = 1;
  bool updated = true;  ///< whether the step updated this rank's parameters
  votes agreed{};
  step_times times{};
};

/// A number that was measured on a data set.
struct metric_value {
  std::string name;
  double value = 0;  ///< NaN: undefined
};

/// Results of one epoch.
///
/// Units     `examples`, `ignored`, `weight` and `loss` are those of all ranks; the seconds are those of this
///           rank. `ignored`: examples of weight 0, such as damaged records that are skipped, and those of
///           steps that were not finite. `weight`: sum of step_info::weight over the steps that
///           were finite and computed a loss. `loss`: weighted mean; NaN if the weight is 0. If the run
///           resumed within the epoch, `weight` and `loss` cover the whole epoch; steps, examples, ignored
///           and seconds cover only the resumed part. `epochs`: number of epochs that all calls of fit will
///           have completed when this call ends. `validation`: the numbers of fit_settings::validation, with
///           "validation loss" first.
struct epoch_report {
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t examples = 0;
  std::int64_t ignored = 0;
  double weight = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
  std::vector<metric_value> validation{};
};

/// Numbers that a listener stores in checkpoints in addition to its state.
struct listener_array {
  element_type type = element_type::f32;
  std::span<std::byte const> values{};
};

/// Observes training events, in the same way under every strategy.
///
/// Order     called on the thread that called fit, while no worker runs. All ranks call on_epoch and on_vote
///           in the same order, so these functions may make collective calls (evaluate, save). If
///           training::has_common_steps, on_step may, too.
class listener {
 public:
  virtual ~listener() = default;
  /// Throws setting_error if a fit with these settings does not compute the numbers that the listener needs.
  /// Called before the first step, and before restore.
  virtual void check(fit_settings const&) const {}
  /// Called after each step; see training::has_common_steps.
  virtual void on_step(training&, step_report const&) {}
  /// Called after each complete epoch.
  virtual void on_epoch(training&, epoch_report const&) {}
  /// Called after all ranks have agreed on the requests of any rank (training::request).
  virtual void on_vote(training&, votes const&) {}
  /// Called on all ranks when fit has ended: after the last epoch or a stop, but not after an exception.
  virtual void on_end(training&) {}

  /// Name and state for checkpoints written during fit; the same on every rank. The first fit after resume
  /// calls restore with the saved state of this name. Listeners of one name are matched by their order in
  /// fit_settings. Without a name no state is saved.
  virtual std::string name() const { return {}; }
  virtual std::string state() const { return {}; }
  /// Settings, such as "every 2", that fit compares between the ranks in addition to the name. A resumed run
  /// may have other settings.
  virtual std::string settings() const { return {}; }
  virtual void restore(std::string_view) {}
  /// Numbers that the checkpoint stores with the state, for example parameters in canonical order; none by
  /// default. restore_array is called after restore, with an empty array if no numbers are stored.
  virtual listener_array array() const { return {}; }
  virtual void restore_array(listener_array const&) {}
};

namespace detail {

/// Keys of the listeners' states in a checkpoint: the listener's name, or "name #2" for the second listener
/// with that name. A listener without a name has an empty key.
std::vector<std::string> keys_of(std::span<listener* const> all);

}  // namespace detail

}  // namespace cohort
