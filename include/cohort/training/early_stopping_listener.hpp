// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/sink.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/training/listener.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/training.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// Settings of an early_stopping_listener.
///
/// Units     `patience`: number of consecutive checks without improvement before the stop. `every`: epochs
///           between checks. `minimum_delta`: a check is an improvement if its value is better than the best
///           value by more than `minimum_delta`. `restore_best`: when fit ends (after a stop or after its
///           last epoch), every rank restores the parameters of the best check. Step, epoch and the
///           optimizers' state still belong to the last step.
/// Order     `on_best` is called on every rank after each check with a new best value, for example to save
///           the model. `lines` receives a line after each check, on rank 0; empty: no lines. If the ranks
///           change during a check, it is repeated with these calls.
struct early_stopping_settings {
  int patience = 5;
  double minimum_delta = 0;
  int every = 1;
  bool restore_best = false;
  std::function<void(training&)> on_best{};
  sink lines = stderr_sink();
};

/// Evaluates a metric after every `every` epochs, and stops the run when the metric has not improved for
/// `patience` checks.
///
///     early_stopping_listener stopping(metrics::loss, {.patience = 3, .restore_best = true});
///     run.fit(data, {.epochs = 100, .validation = held, .listeners = {&stopping}});
///
/// The metric's name selects one of the metrics that fit computes on its validation data. A metric with a
/// separate data set (metrics::accuracy.on(held)), or with a function of the run, needs no validation data.
///
/// Order     collective: every rank has an early_stopping_listener with the same settings.
/// After     fit returns with `stopped` before the next epoch. The parameters are those of the last step or,
///           with `restore_best`, the best ones. Checkpoints store the listener's state and, with
///           `restore_best`, the best parameters, so a resumed run continues the count. After a stop, a
///           further fit starts the count at 0. If a reported epoch is not later than the previous one, the
///           epoch belongs to another run; the listener then discards the best value and parameters. But if
///           fit repeats an epoch's on_epoch because the ranks have changed, the last call counts alone.
/// Errors    setting_error for invalid settings, if fit does not compute the metric, or if the function of a
///           metric returns different numbers on the ranks. data_error if a checkpoint's state of this
///           listener is damaged or belongs to another network.
/// Exact     `restore_best` restores the parameters bit for bit.
/// Cost      `restore_best` needs one copy of the parameters in host memory, or two if the ranks may change.
class early_stopping_listener final : public listener {
 public:
  explicit early_stopping_listener(metric judge, early_stopping_settings how = {});

  void check(fit_settings const& how) const override;
  /// Ends the time in which on_epoch may be repeated.
  void on_step(training&, step_report const&) override { before_.reset(); }
  void on_epoch(training& run, epoch_report const& done) override;
  /// Resets the count for a further fit, if this listener requested the stop. on_end also resets the count.
  void on_vote(training&, votes const& all) override;
  /// Restores the best parameters.
  void on_end(training& run) override;

  /// Returns a text such as "early stopping by accuracy".
  std::string name() const override;
  /// Returns a text such as "every 1, patience 5, minimum delta 0".
  std::string settings() const override;
  /// Returns a text such as "4 2 0.75": epoch of the best value (from 0), number of checks without
  /// improvement since then, best value. As long as on_epoch may be repeated, the state before this call
  /// follows: "4 0 0.75; 4 1 2 1 0.5". The first two numbers are the epoch and the slot of the best
  /// parameters.
  std::string state() const override;
  void restore(std::string_view text) override;
  /// The best parameters, in canonical order. As long as on_epoch may be repeated: both slots, if used.
  listener_array array() const override;
  void restore_array(listener_array const& saved) override;

  /// Returns whether this listener stopped the last fit.
  bool has_stopped() const { return has_stopped_; }
  /// Best value so far; empty before the first check with a finite value.
  std::optional<double> best() const { return count_.best; }
  /// Epoch of the best value, counted from 1 as in the log; 0 if there is no best value.
  std::int64_t best_epoch() const { return count_.best_epoch + 1; }

 private:
  /// Result of all checks so far.
  struct check_count {
    std::optional<double> best{};
    std::int64_t best_epoch = -1;
    int without_improvement = 0;
    bool should_stop = false;
    int slot = -1;  // of the best parameters; -1: none
  };

  static std::string text_of(check_count const& count);
  void begin_epoch(bool is_repeatable, std::int64_t epoch);
  void copy_parameters(training& run);
  [[noreturn]] void refuse(std::string known) const;
  double measured(training& run, epoch_report const& done) const;
  bool better(double now) const;
  void require_same_on_all_ranks(communicator& world, double now) const;
  void restart();
  /// Discards the state of an earlier run.
  void forget();
  void log_check(std::int64_t epoch, double now, bool best) const;

  metric metric_;
  early_stopping_settings how_;
  check_count count_{};
  std::optional<check_count> before_{};  // count_ before last_epoch_, as long as on_epoch may be repeated
  std::int64_t last_epoch_ = -1;
  bool has_stopped_ = false;
  element_type type_ = element_type::f32;  // of parameters_
  int slots_ = 1;                          // sets of parameters in parameters_
  buffer parameters_{};
};

}  // namespace cohort
