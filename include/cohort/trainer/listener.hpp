// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/step_times.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

class training;

/// What is known when a step is done.
///
/// Units     `examples` and `loss`, their mean, are this rank's; `step` counts from 0 over all epochs; `step_seconds` is
///           the step without waiting for data, `wait_seconds` the wait before it, `exchange_seconds` the part of the
///           step in which it waited for other ranks. `bytes_sent`: by this rank since the run began.
///           `steps_in_epoch` is −1 where the data set is a stream. `times`: when the parts of the step began.
struct step_report {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::int64_t steps_in_epoch = -1;
  int examples = 0;
  double loss = 0;
  double step_seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
  std::uint64_t bytes_sent = 0;
  int ranks = 1;
  bool updated = true;  ///< whether this rank's parameters have taken the step
  step_times times{};
};

/// What is known when an epoch is done. `examples`, Σ of their weights (1 each where they have none) and `loss`, their mean,
/// are those of all ranks, the seconds this rank's. Where a checkpoint had begun the epoch, weights and loss are of the whole.
struct epoch_report {
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t examples = 0;
  double weight = 0;
  double loss = 0;
  double seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
};

/// Somebody who is told how training goes, the same under every strategy.
///
/// Order     called on the thread that called fit, while no worker runs. on_epoch and on_vote are called in the same places on
///           every rank, and so is on_step where training::has_common_steps: there a listener may evaluate or save, which all
///           ranks do together.
class listener {
 public:
  virtual ~listener() = default;
  virtual void on_step(training&, step_report const&) {}
  virtual void on_epoch(training&, epoch_report const&) {}
  /// Somebody has asked for something (training::request), and all ranks have agreed on it.
  virtual void on_vote(training&, votes const&) {}

  /// What it remembers, as text, for the checkpoints that are written while it listens; the same on every rank. The first fit
  /// after resume gives it to the listener of that name; where several have one name, in the order in which they are
  /// given to fit. No name: nothing is kept.
  virtual std::string name() const { return {}; }
  virtual std::string state() const { return {}; }
  virtual void restore(std::string_view) {}
};

namespace detail {

/// Under what a checkpoint keeps each listener's state: its name, "name #2" for the second of that name; empty without one.
std::vector<std::string> keys_of(std::span<listener* const> all);

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/listener.ipp>
#endif
