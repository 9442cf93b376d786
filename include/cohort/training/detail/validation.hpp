// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/sharding.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cohort/training/listener.hpp>
#include <cohort/training/metric.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

struct training_state;

/// Computes the loss and metrics of a run on a data set, in one pass.
///
/// Errors    the constructor: shape_error if the data does not match the network; setting_error if a metric
///           does not apply to the first loss or has no function, or if two metrics have the same name.
///           measure_all: data_error if all examples of all ranks have weight 0.
class validation {
 public:
  validation(training_state& run, dataset data, std::vector<metric> metrics,
             cohort::sharding sharding = cohort::sharding::global);

  /// Returns "validation loss" and then the metrics in their order.
  ///
  /// Order     collective; the same values on every rank.
  std::vector<metric_value> measure_all(training& run, evaluation_settings how) const;

 private:
  metric_measure measure_of(metric const& one) const;

  training_state& state_;
  dataset data_;
  std::vector<metric> metrics_;
  cohort::sharding sharding_;
};

/// Throws data_error because all examples have weight 0. `what`: "epoch" or "validation data".
[[noreturn]] void refuse_weightless(std::string_view what, std::string where, std::int64_t examples);

}  // namespace cohort::detail
