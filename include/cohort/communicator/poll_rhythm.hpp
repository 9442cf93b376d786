// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>

namespace cohort::detail {

/// How long a thread that polls a transport leaves it alone between two looks. Who waits wants it to look often; where nobody does,
/// the processor is for who computes: naps grow by a half while nothing moves and are a fifth after a message, so that a few
/// of them fit between two messages, however long these take.
///
/// Source    measured: 75 MB by MPI at 1 Gbit/s beside a step on the same core; naps of at most 0.15, 0.35 and 1.2 ms hide 0.66, 0.75
///           and 0.69 of it (overlap_benchmark). Longer ones leave the link idle, shorter ones the step without its core.
class poll_rhythm {
 public:
  /// Something is under way again.
  void begin() { quiet_ = 0; }
  /// After each look.
  void looked(bool moved, bool awaited) {
    quiet_ = !moved ? std::min(quiet_ + 1, eager + growths) : awaited ? 0 : std::max(quiet_ - 4, 0);
  }
  /// 0: none.
  std::chrono::microseconds nap(bool awaited) const {
    if (quiet_ <= eager) return {};
    return std::chrono::microseconds(awaited ? std::min(50, quiet_ - eager)
                                             : static_cast<int>(4 * std::pow(1.5, quiet_ - eager)));
  }

 private:
  static constexpr int eager = 50;    // looks without a nap
  static constexpr int growths = 11;  // up to 346 µs
  int quiet_ = 0;
};

}  // namespace cohort::detail
