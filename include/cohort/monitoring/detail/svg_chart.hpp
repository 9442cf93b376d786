// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/evaluation/calibration.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cohort/graph/node.hpp>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Pictures of a report as inline SVG. Colours are classes of the page's style sheet: c0 to c7, grid, text.
namespace cohort::detail {

/// Text with the characters escaped that HTML reserves.
std::string escape_html(std::string_view text);

/// A number with at least four significant digits, without zeros at the end; below 1e-4 and from 1e7 on in
/// scientific notation. "-" if it is not finite.
std::string short_number(double number);

/// A curve of bounded size. Each point is the mean of the same number of added points; when the curve is
/// full, pairs of points are joined and the number doubles.
class report_curve {
 public:
  struct point {
    double x, y;
  };
  static constexpr std::size_t most_points = 512;

  explicit report_curve(std::string name) : name_(std::move(name)) {}

  /// Order     x does not decrease. A y that is not finite is omitted.
  void add(double x, double y);
  std::string const& name() const { return name_; }
  std::span<point const> points() const { return points_; }
  /// The y that was added last; NaN before the first one.
  double last() const { return last_; }

 private:
  std::string name_;
  std::vector<point> points_{};
  double last_ = std::numeric_limits<double>::quiet_NaN();
  double x_ = 0, y_ = 0;  // sums of the next point
  std::size_t pending_ = 0, joined_ = 1;
};

enum class y_axis : unsigned char { linear, logarithmic };

/// Curves over one axis of steps, with ticks and a legend. Empty without points.
std::string line_chart(std::string_view title, std::span<report_curve const> curves,
                       y_axis scale = y_axis::linear);

struct bar_part {
  std::string name;
  double value = 0;
};

/// One bar whose parts are proportional to their values, and a table of values and shares. `unit`: of the
/// values. Empty if the sum is 0.
std::string stacked_bar(std::string_view title, std::span<bar_part const> parts, std::string_view unit);

/// The confusion matrix as a picture, with at most 40 classes; the shade is the share of the actual class.
std::string confusion_picture(classification_report const& report, std::span<std::string const> labels);

/// ROC curves of the columns on one chart; of more than 8 columns, those with the smallest areas, under
/// another caption. Empty if no column has a curve.
std::string roc_picture(roc_report const& report, std::span<std::string const> labels, char const* caption);

/// The frequency of correct predictions over their probability, by bins; with one column, the frequency of
/// positive examples. A point's area is proportional to the examples of its bin. Empty without examples.
std::string calibration_picture(calibration_report const& report);

/// The layers of a network as boxes, inputs at the top, with an arrow for each read.
std::string network_picture(graph_view net);

}  // namespace cohort::detail
