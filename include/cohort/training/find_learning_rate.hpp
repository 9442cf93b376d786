// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/sharding.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

class training;

/// Settings of find_learning_rate.
///
/// Units     the rate grows by a constant factor per step, from `from` to `to`. `batch`, `accumulate`,
///           `sharding`: see fit_settings. `smoothing`: weight of the earlier losses in the moving average,
///           from 0 to below 1. `stop_at`: the test ends when the smoothed loss exceeds this multiple of its
///           minimum.
struct rate_search {
  double from = 1e-6;
  double to = 1;
  int steps = 100;
  int batch = 32;
  int accumulate = 1;
  double smoothing = 0.9;
  double stop_at = 4;
  cohort::sharding sharding = cohort::sharding::global;
};

/// Result of find_learning_rate: one row per step.
///
/// `loss`        mean loss of all ranks in this step, before its update
/// `smoothed`    exponential moving average of the losses so far
/// `suggested`   rate in the middle of the third of the rows in which the loss falls most steeply; none if
///               the loss never falls
struct rate_table {
  struct row {
    double rate = 0, loss = 0, smoothed = 0;
  };
  std::vector<row> rows;
  std::optional<double> suggested;

  /// "rate,loss,smoothed" and one line per row.
  std::string csv() const;
};

/// Learning-rate range test: trains some steps with a growing rate from the current parameters, and returns
/// the loss at each rate. The optimizer's state starts at its initial value. Layers with a separate optimizer
/// keep the ratio of its rate to the network's rate.
///
///     rate_table const table = find_learning_rate(run, data, {.to = 10});
///     if (table.suggested) …
///
/// Order     collective. Ranks exchange gradients by allreduce, independently of the run's strategy.
/// After     the run is unchanged: parameters, optimizer state, position and the strategy's state.
/// Errors    setting_error for invalid settings, or if the network has stateful layers; those of fit, except
///           numeric_error: a number that is not finite ends the test.
/// Exact     the same table on every rank, and in every call with the same parameters and settings.
/// Cost      memory for a copy of the parameters and a second optimizer state.
/// Source    Smith, Cyclical learning rates for training neural networks, WACV 2017. The rate grows
///           exponentially here, so that small rates get as many steps as large ones.
rate_table find_learning_rate(training& run, dataset const& data, rate_search const& how = {});

}  // namespace cohort
