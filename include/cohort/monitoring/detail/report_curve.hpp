// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// JSON text of a part of a report.
struct report_json {
  std::string text = "null";
};

/// A curve with a bounded number of points. Each point is the mean of n consecutive added points; n is 1 at
/// first. When the curve is full, adjacent points are averaged in pairs, and n doubles.
class report_curve {
 public:
  using point = std::pair<double, double>;  // x and y
  static constexpr std::size_t most_points = 512;

  explicit report_curve(std::string name) : name_(std::move(name)) {}

  /// Order     x does not decrease. A point with an x or y that is not finite is omitted.
  void add(double x, double y);
  std::string const& name() const { return name_; }
  std::span<point const> points() const { return points_; }
  /// Returns the y that was added last; NaN before the first one.
  double last() const { return last_; }

 private:
  std::string name_;
  std::vector<point> points_{};
  double last_ = std::numeric_limits<double>::quiet_NaN();
  double x_ = 0, y_ = 0;  // sums of x and y for the next point
  std::size_t pending_ = 0, joined_ = 1;
};

}  // namespace cohort::detail
