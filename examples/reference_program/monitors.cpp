// SPDX-License-Identifier: Apache-2.0
#include "monitors.hpp"

#include <cohort/configuration/run_document.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/training/training.hpp>

namespace reference_program {

monitors::monitors(cohort::output_settings const& output, char const* title, cohort::training& run,
                   cohort::dataset const& train, cohort::dataset const* test,
                   cohort::evaluation_settings const& evaluation, cohort::fit_settings const& how) {
  if (!output.tensorboard.empty())
    board_ = std::make_unique<cohort::tensorboard_listener>(output.tensorboard);
  if (output.html_report.empty()) return;
  cohort::html_report_settings shown{.title = title, .how = evaluation, .memory = run.memory_of(train, how)};
  if (test && test->describe().targets.at(0).classes > 1) shown.classified = *test;
  report_ = std::make_unique<cohort::html_report_listener>(output.html_report, std::move(shown));
}

monitors::~monitors() = default;

void monitors::add_to(std::vector<cohort::listener*>& all) const {
  if (board_) all.push_back(board_.get());
  if (report_) all.push_back(report_.get());
}

void monitors::show(char const* curve, std::int64_t step, double value) const {
  if (board_) board_->scalar(curve, step, value);
}

}  // namespace reference_program
