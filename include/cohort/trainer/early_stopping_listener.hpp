// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/sink.hpp>
#include <cohort/trainer/metric.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// Units     `patience` counts looks without improvement, `every` epochs from look to look; `minimum_delta`: a number is
///           better if it is by more than that.
/// Order     `on_best` is called on every rank after each look that was the best so far: to save the model, for example.
struct early_stopping_settings {
  int patience = 5;
  double minimum_delta = 0;
  int every = 1;
  std::function<void(training&)> on_best{};
  sink lines = stderr_sink();
};

/// Looks at a metric after each epoch, and ends the run when it has not become better for a while.
///
///     early_stopping_listener stopping(accuracy_on(held), {.patience = 3, .on_best = [](training& run) { run.save("best"); }});
///
/// Order     collective: every rank has one with the same settings.
/// After     all ranks agree on the stop when they meet next: fit returns with `stopped` a few steps into the epoch that
///           follows. The parameters are the last ones, not the best: on_best has seen those.
///           Checkpoints keep what it has seen: a run that is resumed counts on.
/// Errors    setting_error for settings that make no sense.
class early_stopping_listener final : public listener {
 public:
  explicit early_stopping_listener(metric judge, early_stopping_settings how = {});

  void on_epoch(training& run, epoch_report const& done) override;
  void on_step(training& run, step_report const&) override;
  /// A further fit begins to count anew, unless somebody else has ended this one.
  void on_vote(training&, votes const& all) override;

  std::string name() const override { return "early stopping by " + judge_.name; }
  /// "4 2 0.75": the best one's epoch, looks without improvement, the best.
  std::string state() const override;
  void restore(std::string_view text) override;

  /// Empty before the first look.
  std::optional<double> best() const { return best_; }
  /// The epoch, counted from 0, after which it was seen.
  std::int64_t best_epoch() const { return best_epoch_; }

 private:
  bool better(double now) const;
  void say(std::int64_t epoch, double now, bool best) const;

  metric judge_;
  early_stopping_settings how_;
  std::optional<double> best_{};
  std::int64_t best_epoch_ = -1;
  int without_ = 0;
  bool over_ = false;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/early_stopping_listener.ipp>
#endif
