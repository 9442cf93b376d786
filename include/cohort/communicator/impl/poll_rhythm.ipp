// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/communicator/detail/poll_rhythm.hpp>
#include <cohort/detail/config.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE void poll_rhythm::looked(bool moved, bool awaited) {
  if (!moved)
    quiet_ = std::min(quiet_ + 1, eager + longest_awaited);
  else
    quiet_ = awaited ? 0 : std::max(std::min(quiet_, eager + growths) - 4, 0);
}

COHORT_CORE_INLINE std::chrono::microseconds poll_rhythm::nap(bool awaited) const {
  int const over = quiet_ - eager;
  if (over <= 0) return {};
  return std::chrono::microseconds(awaited ? over
                                           : static_cast<int>(4 * std::pow(1.5, std::min(over, growths))));
}

}  // namespace cohort::detail
