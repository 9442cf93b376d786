// SPDX-License-Identifier: Apache-2.0
#include <cohort/monitoring/detail/report_curve.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort::detail {

void report_curve::add(double x, double y) {
  if (!is_finite(x) || !is_finite(y)) return;
  last_ = y;
  x_ += x;
  y_ += y;
  if (++pending_ < joined_) return;
  auto const count = static_cast<double>(pending_);
  points_.push_back({x_ / count, y_ / count});
  x_ = y_ = 0;
  pending_ = 0;
  if (points_.size() < most_points) return;
  for (std::size_t i = 0; i < most_points / 2; ++i) {
    auto const [x0, y0] = points_[2 * i];
    auto const [x1, y1] = points_[2 * i + 1];
    points_[i] = {(x0 + x1) / 2, (y0 + y1) / 2};
  }
  points_.resize(most_points / 2);
  joined_ *= 2;
}

}  // namespace cohort::detail
