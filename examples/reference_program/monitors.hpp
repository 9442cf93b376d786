// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort {
class html_report_listener;
class listener;
class tensorboard_listener;
class training;
struct fit_settings;
struct output_settings;
}  // namespace cohort

namespace reference_program {

/// Listeners that write the monitoring files of `output` while a run trains. `title`: title of the report.
/// `test`: the data set whose classes the report shows; null: none.
class monitors {
 public:
  monitors(cohort::output_settings const& output, char const* title, cohort::training& run,
           cohort::dataset const& train, cohort::dataset const* test,
           cohort::evaluation_settings const& evaluation, cohort::fit_settings const& how);
  monitors(monitors const&) = delete;
  ~monitors();

  void add_to(std::vector<cohort::listener*>& all) const;
  /// Adds a point to a curve of TensorBoard, such as "validation/accuracy".
  void show(char const* curve, std::int64_t step, double value) const;

 private:
  std::unique_ptr<cohort::tensorboard_listener> board_;
  std::unique_ptr<cohort::html_report_listener> report_;
};

}  // namespace reference_program
