// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/communicator/detail/poll_rhythm.hpp>

namespace cohort::detail {

void poll_rhythm::after_poll(bool moved, bool awaited) {
  if (!moved)
    idle_polls_ = std::min(idle_polls_ + 1, polls_without_nap + longest_awaited);
  else
    idle_polls_ = awaited ? 0 : std::max(std::min(idle_polls_, polls_without_nap + growths) - 4, 0);
}

std::chrono::microseconds poll_rhythm::nap(bool awaited) const {
  int const over = idle_polls_ - polls_without_nap;
  if (over <= 0) return {};
  return std::chrono::microseconds(awaited ? over
                                           : static_cast<int>(4 * std::pow(1.5, std::min(over, growths))));
}

}  // namespace cohort::detail
