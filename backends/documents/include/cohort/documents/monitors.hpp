// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/documents/detail/implementation.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort {
class listener;
class tensorboard_listener;
class training;
struct fit_settings;
struct output_settings;
}  // namespace cohort

namespace cohort::documents {

/// Listeners that write the monitoring files of `output` while a run trains. `title`: title of the report.
/// `test`: the data set whose classes the report shows; null: none.
class monitors {
 public:
  monitors(output_settings const& output, char const* title, training& trained, dataset const& train,
           dataset const* test, evaluation_settings const& evaluation, fit_settings const& fitting);
  monitors(monitors const&) = delete;
  ~monitors();

  void add_to(std::vector<listener*>& all) const;
  /// Adds a point to a metric of the test set, such as "accuracy": to TensorBoard's curve at once, to the
  /// report at the end of the epoch. Called before the listeners of `add_to` in the same event.
  void show(char const* metric, std::int64_t step, double value) const;

 private:
  class report_listener;
  std::unique_ptr<tensorboard_listener> board_;
  std::unique_ptr<report_listener> report_;
};

}  // namespace cohort::documents
