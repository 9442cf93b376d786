// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/sink.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/training.hpp>
#include <functional>
#include <string>
#include <vector>

namespace cohort {

/// Settings of an evaluation_listener.
///
/// Units     `every`: epochs between evaluations. `metrics`: numbers to log, computed in one pass; none:
///           accuracy and log loss of a classification. `lines` receives the line; empty: no lines.
struct evaluation_listener_settings {
  int every = 1;
  std::vector<metric> metrics{};
  evaluation_settings how{};
  sink lines = stderr_sink();
};

/// Evaluates a data set after every `every` epochs and logs the result: "epoch 3: accuracy 97.12 %, log loss
/// 0.0931".
///
/// Order     collective: every rank has an evaluation_listener with the same settings; rank 0 logs the line.
/// Before    evaluators must outlive the listener, which clears them before each pass. Later listeners can
///           read the evaluators' results, for example in the metric of an early_stopping_listener.
/// Errors    setting_error if `every` is not positive, or a metric does not apply to the data; those of
///           training::evaluate.
class evaluation_listener final : public listener {
 public:
  /// Logs the metrics of the settings.
  explicit evaluation_listener(dataset data, evaluation_listener_settings settings = {});

  /// Runs any evaluators in one pass. `line` returns the text to log; empty: none.
  evaluation_listener(dataset data, std::vector<evaluator*> reports, std::function<std::string()> line,
                      evaluation_listener_settings settings = {});

  void on_epoch(training& run, epoch_report const& done) override;
  std::string name() const override;

 private:
  using evaluation = std::function<std::string(training&, evaluation_settings const&)>;

  evaluation_listener(evaluation_listener_settings settings, evaluation evaluate);

  static std::string line_of(classification_report const& seen, evaluation_settings const& how);
  static std::string line_of(std::vector<metric> const& metrics, dataset const& data, training& run,
                             evaluation_settings const& how);

  evaluation_listener_settings settings_;
  evaluation evaluate_;
};

}  // namespace cohort
