// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>

namespace cohort::detail {

/// Count, means and centred second moments of pairs (x, y). Parts can be merged in any order.
///
/// Units     x, y: means relative to the origins x0, y0, the first pair added. Numbers that are close to each
///           other and far from 0 therefore lose no precision. xx, yy, xy: Σ (x − mean x)², Σ (y − mean y)²,
///           Σ (x − mean x)(y − mean y).
/// Source    Chan, Golub and LeVeque, Am. Stat. 37(3), 1983.
struct paired_moments {
  double count = 0;
  double x0 = 0, y0 = 0;
  double x = 0, y = 0;
  double xx = 0, yy = 0, xy = 0;

  /// Moments of `count` > 0 pairs, computed in two passes. `pair(i)` returns pair i with members .x and .y.
  template <class Pair>
  static paired_moments of(int count, Pair pair) {
    paired_moments made{.count = static_cast<double>(count), .x0 = pair(0).x, .y0 = pair(0).y};
    for (int i = 0; i < count; ++i) {
      auto const p = pair(i);
      made.x += (p.x - made.x0) / made.count;
      made.y += (p.y - made.y0) / made.count;
    }
    for (int i = 0; i < count; ++i) {
      auto const p = pair(i);
      double const dx = (p.x - made.x0) - made.x, dy = (p.y - made.y0) - made.y;
      made.xx += dx * dx;
      made.yy += dy * dy;
      made.xy += dx * dy;
    }
    return made;
  }

  /// Merges the moments of another part.
  void add(paired_moments const& part);
};

}  // namespace cohort::detail
