// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/monitors.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/training/training.hpp>
#include <utility>

namespace cohort::documents {

/// Passes the events of a run to the HTML report, and adds the metrics that the program measures itself to
/// those of the epoch.
class monitors::report_listener final : public listener {
 public:
  report_listener(std::string path, html_report_settings settings)
      : page_(std::move(path), std::move(settings)) {}

  void add(char const* metric, double value) {
    auto const found = std::ranges::find(metrics_, metric, &metric_value::name);
    if (found == metrics_.end())
      metrics_.push_back({.name = metric, .value = value});
    else
      found->value = value;
  }

  void on_step(training& run, step_report const& done) override { page_.on_step(run, done); }
  void on_epoch(training& run, epoch_report const& done) override {
    epoch_report whole = done;
    whole.validation.insert(whole.validation.end(), metrics_.begin(), metrics_.end());
    page_.on_epoch(run, whole);
  }
  void on_end(training& run) override { page_.on_end(run); }
  std::string name() const override { return page_.name(); }

 private:
  html_report_listener page_;
  std::vector<metric_value> metrics_{};  ///< the last values
};

monitors::monitors(output_settings const& output, char const* title, training& trained, dataset const& train,
                   dataset const* test, evaluation_settings const& evaluation, fit_settings const& fitting) {
  if (!output.tensorboard.empty()) board_ = std::make_unique<tensorboard_listener>(output.tensorboard);
  if (output.html_report.empty()) return;
  html_report_settings shown{.title = title, .how = evaluation, .memory = trained.memory_of(train, fitting)};
  if (test && test->describe().targets.at(0).classes > 1) shown.classified = *test;
  report_ = std::make_unique<report_listener>(output.html_report, std::move(shown));
}

monitors::~monitors() = default;

void monitors::add_to(std::vector<listener*>& all) const {
  if (board_) all.push_back(board_.get());
  if (report_) all.push_back(report_.get());
}

void monitors::show(char const* metric, std::int64_t step, double value) const {
  if (board_) board_->scalar("validation/" + std::string(metric), step, value);
  if (report_) report_->add(metric, value);
}

}  // namespace cohort::documents
