// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <limits>

namespace cohort::detail {

/// The least of some runs, in a few hundredths of a second if a run is short.
template <class Run>
double least_seconds(Run&& run) {
  using clock = std::chrono::steady_clock;
  constexpr int fewest = 3, most = 200;
  constexpr double enough = 0.02;
  run();
  double least = std::numeric_limits<double>::infinity(), all = 0;
  for (int runs = 0; runs < fewest || (runs < most && all < enough); ++runs) {
    auto const start = clock::now();
    run();
    double const seconds = std::chrono::duration<double>(clock::now() - start).count();
    least = seconds < least ? seconds : least;
    all += seconds;
  }
  return least;
}

}  // namespace cohort::detail
