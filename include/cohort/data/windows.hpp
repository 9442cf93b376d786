// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/time_series.hpp>
#include <string>
#include <vector>

namespace cohort {

/// Settings of windows. Field order: the window, the target, and the distance between windows.
///
/// Units     rows of the series.
struct window_settings {
  int length = 0;                         ///< rows of a window, at least 1
  std::vector<int> horizons = {1};        ///< distances from the window's last row to the target's rows
  std::vector<std::string> targets = {};  ///< columns to predict; empty: all
  int stride = 1;                         ///< distance from one window to the next
};

/// Returns the sliding windows over a series, for forecasts. Example i is rows [i·stride, i·stride + length);
/// its target is the rows i·stride + length − 1 + h for each h in `horizons`. Windows are not copied: they
/// overlap in memory.
///
/// Shapes    input "window" length × C, target "target" H·K: for each of the H horizons, in their order, the
///           values of the K columns in `targets`. The elements have the type of the series, and are
///           delivered as f32. (T − length − largest horizon) / stride + 1 examples.
/// Errors    setting_error for an unknown column, no horizon, a length, horizon or stride below 1, or if the
///           series is shorter than length + largest horizon.
dataset windows(time_series const& series, window_settings const& settings);

}  // namespace cohort
