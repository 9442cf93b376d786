// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/dataset.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/monitoring/detail/dense_parameters.hpp>
#include <cohort/monitoring/detail/implementation.hpp>
#include <cohort/monitoring/detail/report_curve.hpp>
#include <cohort/training/detail/mean_loss.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cohort/training/listener.hpp>
#include <cohort/training/run_memory.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Settings of an html_report_listener.
///
/// Units     `every`: steps between two points of the curves. `ratios_every`: steps between two points of the
///           update ratios; 0: none. `seconds`: least time between two writes of the file within an epoch.
///           `refresh`: seconds after which a browser reloads the page while the run trains; 0: never.
///           `classified`: a data set whose confusion matrix, ROC curves and calibration are shown; evaluated
///           after each epoch by all ranks, with `how`. `memory`: result of training::memory_of. `lines`
///           receives the error if the file cannot be written.
struct html_report_settings {
  std::string title = "Training";
  std::int64_t every = 10;
  std::int64_t ratios_every = 500;
  double seconds = 10;
  int refresh = 10;
  std::optional<dataset> classified{};
  evaluation_settings how{};
  std::optional<run_memory> memory{};
  sink lines = stderr_sink();
};

/// Writes a report of a run as one HTML file that needs no other files, and rewrites it while the run trains.
/// The report contains curves of loss, metrics and update ratios; a table of the classes with confusion
/// matrix, ROC curves and calibration; the phases of a step on all ranks; the exchange, memory, the network
/// and the settings. Readers can zoom into the curves; the colours follow the browser's light or dark mode.
/// The file is a fixed page whose script draws one JSON document.
///
///     html_report_listener report("run.html", {.classified = test});
///     training.fit(data, {.validation = held, .metrics = {metrics::accuracy}, .listeners = {&report}});
///
/// Only rank 0 writes. Classes are those of the network's first loss. They have the names of `classified`,
/// otherwise those of training::class_names, otherwise numbers. ROC curves and calibration are shown for
/// softmax_cross_entropy with at most 100 classes; scores of ROC curves are rounded down to multiples of
/// 0.001. With binary_cross_entropy, targets of `classified` must be 0 or 1. The table then has a row per
/// output, and scores of at least 0.5 are positive predictions. ROC curves are shown, but calibration only if
/// there is one output.
///
/// Units     losses within an epoch, and all times outside the table of phases, are those of rank 0.
///           Phases: means over all steps except the first one, which also builds the plan. An update ratio
///           is the norm of a step's update / the norm of the tensor before the step. If the strategy
///           exchanges parameters, the update includes the exchange. A curve with more than 512 points shows
///           means of adjacent points. Bytes are those that rank 0 sends in steps, not in evaluations or at
///           the ends of epochs.
/// Order     collective: every rank has an html_report_listener with the same settings. The file is rewritten
///           atomically. Browsers stop reloading the page when the run is completed, stopped or interrupted.
///           A resumed run begins a new report.
/// Errors    setting_error unless `every` ≥ 1, and the other intervals ≥ 0. setting_error in the first step
///           if `classified` has no class indices, unless the loss is binary_cross_entropy with at most 100
///           outputs. Also those of training::evaluate. If the file cannot be written, the listener logs the
///           error, and training continues.
/// Moves     after each epoch: one allgatherv of 56 bytes per rank, and the messages of training::evaluate.
/// Cost      see docs/monitoring.md.
class html_report_listener final : public listener {
 public:
  explicit html_report_listener(std::string path, html_report_settings settings = {});
  html_report_listener(html_report_listener const&) = delete;
  html_report_listener& operator=(html_report_listener const&) = delete;
  /// If the run is still in progress, marks the page as that of an interrupted run.
  ~html_report_listener() override;

  void on_step(training& run, step_report const& done) override;
  void on_epoch(training& run, epoch_report const& done) override;
  void on_end(training& run) override;
  std::string name() const override { return "HTML report"; }

  /// Returns the page with the numbers so far, as the next write of the file would store it.
  std::string page() const;
  /// Returns the error of the last write of the file; empty if it succeeded.
  std::string const& last_error() const { return last_error_; }

 private:
  enum class state : unsigned char { not_started, running, completed, stopped, interrupted };
  static constexpr std::size_t phases = 7;

  void begin(training& run);
  void add_phases(step_report const& done);
  void add_ratios(training& run, std::int64_t step);
  void describe_exchange(training& run);
  void require_classes(training& run) const;
  void describe_classes(training& run);
  void describe_ranks(training& run);
  void write();

  std::string path_;
  html_report_settings settings_;
  state state_ = state::not_started;
  std::vector<detail::report_curve> loss_, metrics_, ratios_, speed_, memory_;
  detail::report_json network_{}, exchange_{}, classes_{};
  std::string settings_text_{};
  std::vector<std::array<double, phases>> phases_of_ranks_{};
  std::array<double, phases> phase_seconds_{};
  bool has_stepped_ = false, separate_backward_ = false;
  /// Epoch of the last on_epoch; −1 after a step. If the ranks change, fit repeats on_epoch.
  std::int64_t epoch_of_point_ = -1;
  std::int64_t measured_steps_ = 0;  // number of steps in phase_seconds_ and bytes_sent_
  detail::dense_parameters before_{};
  std::int64_t step_ = 0, epoch_ = 0, epochs_ = 0, steps_in_epoch_ = -1, step_in_epoch_ = 0;
  int ranks_ = 1;
  double seconds_ = 0, written_at_ = 0;  // time in steps and waits: now, and at the last write
  std::uint64_t bytes_sent_ = 0;         // bytes sent after the first step
  std::int64_t first_step_ = 0;
  std::int64_t steps_ = 0, examples_ = 0;  // numbers since the last point
  detail::mean_loss mean_loss_{};
  double sum_of_seconds_ = 0, exchange_seconds_ = 0;
  std::vector<measurement> exchange_before_{};  // the strategy's measurements after the first step
  std::string last_error_{};
};

}  // namespace cohort
