// SPDX-License-Identifier: Apache-2.0
#include <cohort/evaluation/detail/paired_moments.hpp>

namespace cohort::detail {

void paired_moments::add(paired_moments const& part) {
  if (part.count == 0) return;
  if (count == 0) {
    *this = part;
    return;
  }
  double const dx = (part.x0 - x0) + part.x - x, dy = (part.y0 - y0) + part.y - y;
  double const share = part.count / (count + part.count);
  xx += part.xx + dx * dx * count * share;
  yy += part.yy + dy * dy * count * share;
  xy += part.xy + dx * dy * count * share;
  x += dx * share;
  y += dy * share;
  count += part.count;
}

}  // namespace cohort::detail
