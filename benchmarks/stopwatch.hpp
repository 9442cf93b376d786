// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace benchmarks {

/// Returns the seconds that f takes.
template <class F>
double seconds(F&& f) {
  auto const begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns the quantile `part` of a list: 0.5 is the median.  Before: the list is not empty.
inline double quantile(std::vector<double> list, double part) {
  auto const at =
      std::min(static_cast<std::size_t>(part * static_cast<double>(list.size())), list.size() - 1);
  std::nth_element(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(at), list.end());
  return list[at];
}
inline double median(std::vector<double> list) { return quantile(std::move(list), 0.5); }

}  // namespace benchmarks
