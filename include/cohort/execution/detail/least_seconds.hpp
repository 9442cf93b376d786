// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <limits>

namespace cohort::detail {

/// Calls run() once to warm up, then repeatedly, and returns the duration of the fastest call in seconds.
/// Makes at least 3 timed calls. Stops after 0.02 s of timed calls, or after 200 calls.
template <class Run>
double least_seconds(Run&& run) {
  using clock = std::chrono::steady_clock;
  constexpr int min_runs = 3, max_runs = 200;
  constexpr double enough_seconds = 0.02;
  run();
  double fastest = std::numeric_limits<double>::infinity(), total = 0;
  for (int runs = 0; runs < min_runs || (runs < max_runs && total < enough_seconds); ++runs) {
    auto const start = clock::now();
    run();
    double const seconds = std::chrono::duration<double>(clock::now() - start).count();
    fastest = seconds < fastest ? seconds : fastest;
    total += seconds;
  }
  return fastest;
}

}  // namespace cohort::detail
