// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cohort/error/detail/text.hpp>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/graph/summary.hpp>
#include <cohort/monitoring/detail/svg_chart.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstdint>

namespace cohort::detail {

std::string escape_html(std::string_view text) {
  std::string made;
  for (char const one : text) {
    if (one == '<')
      made += "&lt;";
    else if (one == '>')
      made += "&gt;";
    else if (one == '&')
      made += "&amp;";
    else if (one == '"')
      made += "&quot;";
    else if (one == '\'')
      made += "&#39;";
    else
      made += one;
  }
  return made;
}

std::string short_number(double number) {
  if (!is_finite(number)) return "-";
  double const size = std::abs(number);
  if (size >= 1e-4 && size < 1e7) {
    int const decimals = std::max(0, 3 - static_cast<int>(std::floor(std::log10(size))));
    std::string text = decimal_text(number, decimals);
    if (decimals == 0) return text;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
  }
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 4).ptr};
}

/// A coordinate with one decimal.
std::string svg_at(double coordinate) { return decimal_text(coordinate, 1); }

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
    point const &a = points_[2 * i], &b = points_[2 * i + 1];
    points_[i] = {(a.x + b.x) / 2, (a.y + b.y) / 2};
  }
  points_.resize(most_points / 2);
  joined_ *= 2;
}

/// A range of an axis and its ticks.
struct chart_axis {
  double low = 0, high = 1, step = 1;
  std::vector<double> ticks{};

  /// A tick with as many digits as the distance of ticks needs.
  std::string label(double tick) const {
    int const decimals = static_cast<int>(-std::floor(std::log10(step) + 1e-9));
    double const largest = std::max(std::abs(low), std::abs(high));
    if (largest < 1e7 && largest >= 1e-4) return decimal_text(tick + 0.0, std::max(decimals, 0));
    char digits[32];
    int const precision = std::clamp(static_cast<int>(std::floor(std::log10(largest))) + decimals, 0, 15);
    return {
        digits,
        std::to_chars(digits, digits + sizeof digits, tick, std::chars_format::scientific, precision).ptr};
  }

  double place(double value, double from, double to) const {
    return from + (value - low) / (high - low) * (to - from);
  }
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten; `least`: smallest distance.
chart_axis chart_axis_of(double low, double high, double least = 0) {
  if (!(high > low)) {
    double const margin = high == 0 ? 1 : std::abs(high) / 10;
    low -= margin;
    high += margin;
  }
  double step = std::pow(10, std::floor(std::log10((high - low) / 4)));
  for (double const factor : {1.0, 2.0, 5.0, 10.0})
    if (factor * step >= (high - low) / 5) {
      step *= factor;
      break;
    }
  step = std::max(step, least);
  chart_axis made{.low = std::min(low, std::floor(low / step) * step),
                  .high = std::ceil(high / step) * step,
                  .step = step};
  for (double k = std::ceil(made.low / step); k * step <= made.high + 1e-9 * step && made.ticks.size() < 32;
       ++k)
    made.ticks.push_back(k * step);
  return made;
}

std::string line_chart(std::string_view title, std::span<report_curve const> curves, y_axis scale) {
  bool const logarithmic = scale == y_axis::logarithmic;
  auto const is_shown = [&](report_curve::point const& p) { return !logarithmic || p.y > 0; };
  auto const y_of = [&](double y) { return logarithmic ? std::log10(y) : y; };
  double left = HUGE_VAL, right = -HUGE_VAL, low = HUGE_VAL, high = -HUGE_VAL;
  for (report_curve const& one : curves)
    for (report_curve::point const& p : one.points())
      if (is_shown(p)) {
        left = std::min(left, p.x), right = std::max(right, p.x);
        low = std::min(low, y_of(p.y)), high = std::max(high, y_of(p.y));
      }
  if (left > right) return {};
  chart_axis const x = chart_axis_of(left, right, 1), y = chart_axis_of(low, high, logarithmic ? 1 : 0);
  auto const label_of = [&](double tick) {
    return logarithmic ? short_number(std::pow(10, tick)) : y.label(tick);
  };
  std::size_t longest = 0;
  for (double const tick : y.ticks) longest = std::max(longest, label_of(tick).size());
  double const x0 = std::max(64.0, 16 + 6.2 * static_cast<double>(longest));
  constexpr double x1 = 624, y0 = 212, y1 = 12;
  std::string svg = text_of({"<figure><figcaption>", escape_html(title),
                             "</figcaption>\n<svg viewBox=\"0 0 640 240\" role=\"img\" aria-label=\"",
                             escape_html(title), "\">\n"});
  for (double const tick : y.ticks) {
    std::string const place = svg_at(y.place(tick, y0, y1));
    svg += text_of({"<line class=\"grid\" x1=\"", svg_at(x0), "\" x2=\"", svg_at(x1), "\" y1=\"", place,
                    "\" y2=\"", place, "\"/><text x=\"", svg_at(x0 - 6), "\" y=\"", place,
                    "\" text-anchor=\"end\" dominant-baseline=\"middle\">", label_of(tick), "</text>\n"});
  }
  for (double const tick : x.ticks)
    svg += text_of({"<text x=\"", svg_at(x.place(tick, x0, x1)), "\" y=\"", svg_at(y0 + 18),
                    "\" text-anchor=\"middle\">", x.label(tick), "</text>\n"});
  std::string legend;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    std::string line;
    int shown = 0;
    for (report_curve::point const& p : curves[c].points())
      if (is_shown(p)) {
        line += svg_at(x.place(p.x, x0, x1)) + ',' + svg_at(y.place(y_of(p.y), y0, y1)) + ' ';
        ++shown;
      }
    if (line.empty()) continue;
    std::string const name = escape_html(curves[c].name()), colour = std::to_string(c % 8);
    svg += text_of({"<polyline class=\"curve c", colour, c >= 8 ? " dashed" : "", "\" points=\"", line,
                    "\"><title>", name, "</title></polyline>\n"});
    if (shown == 1)  // a line of one point is invisible
      svg +=
          text_of({"<circle class=\"c", colour, "\" r=\"3\" cx=\"", line.substr(0, line.find(',')),
                   "\" cy=\"", line.substr(line.find(',') + 1, line.size() - line.find(',') - 2), "\"/>\n"});
    legend += text_of({"<li><i class=\"key c", colour, c >= 8 ? " dashed" : "", "\"></i>", name, " <b>",
                       short_number(curves[c].last()), "</b></li>"});
  }
  return svg + "</svg>\n<ul class=\"legend\">" + legend + "</ul></figure>\n";
}

std::string stacked_bar(std::string_view title, std::span<bar_part const> parts, std::string_view unit) {
  double sum = 0;
  for (bar_part const& one : parts) sum += std::max(one.value, 0.0);
  if (!(sum > 0)) return {};
  std::string svg = text_of({"<figure><figcaption>", escape_html(title),
                             "</figcaption>\n<svg viewBox=\"0 0 640 28\" role=\"img\" aria-label=\"",
                             escape_html(title), "\">\n"});
  std::string rows;
  double from = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    double const share = std::max(parts[k].value, 0.0) / sum, width = 640 * share;
    std::string const name = escape_html(parts[k].name), colour = std::to_string(k % 8),
                      percent = decimal_text(100 * share, 1);
    svg += text_of({"<rect class=\"c", colour, "\" x=\"", svg_at(from), "\" y=\"0\" width=\"", svg_at(width),
                    "\" height=\"28\"><title>", name, ": ", percent, " %</title></rect>\n"});
    rows += text_of({"<tr><td><i class=\"key c", colour, "\"></i>", name, "</td><td>",
                     short_number(parts[k].value), "</td><td>", percent, " %</td></tr>\n"});
    from += width;
  }
  return svg + "</svg>\n<table><tr><th></th><th>" + escape_html(unit) + "</th><th>share</th></tr>\n" + rows
         + "</table></figure>\n";
}

std::string confusion_picture(classification_report const& report, std::span<std::string const> labels) {
  constexpr int most = 40, most_counts = 20;
  int const classes = report.classes();
  if (classes > most || report.examples() == 0) return {};
  double const cell = classes > most_counts ? 14 : 28, x0 = 110, y0 = 24;
  auto const name = [&](int c) {
    auto const k = static_cast<std::size_t>(c);
    std::string label = k < labels.size() ? labels[k] : std::to_string(c);
    return escape_html(label);
  };
  std::string svg =
      text_of({"<figure><figcaption>Confusion matrix: rows are actual classes, columns are "
               "predictions</figcaption>\n<svg class=\"natural\" width=\"",
               svg_at(x0 + cell * classes + 8), "\" height=\"", svg_at(y0 + cell * classes + 8),
               "\" role=\"img\" aria-label=\"confusion matrix\">\n"});
  for (int c = 0; c < classes; ++c) {
    if (classes <= most_counts)
      svg += text_of(
          {"<text x=\"", svg_at(x0 + cell * (c + 0.5)), "\" y=\"16\" text-anchor=\"middle\">", c, "</text>"});
    svg += text_of({"<text x=\"", svg_at(x0 - 6), "\" y=\"", svg_at(y0 + cell * (c + 0.5)),
                    "\" text-anchor=\"end\" dominant-baseline=\"middle\">", name(c), "</text>\n"});
  }
  for (int row = 0; row < classes; ++row) {
    std::int64_t const actual = report.of(row).actual();
    for (int column = 0; column < classes; ++column) {
      std::int64_t const count = report.count(row, column);
      double const share = actual > 0 ? static_cast<double>(count) / static_cast<double>(actual) : 0;
      svg += text_of({"<rect class=\"", row == column ? "c2" : "c3", "\" x=\"", svg_at(x0 + cell * column),
                      "\" y=\"", svg_at(y0 + cell * row), "\" width=\"", svg_at(cell - 1), "\" height=\"",
                      svg_at(cell - 1), "\" fill-opacity=\"", decimal_text(0.05 + 0.55 * share, 3),
                      "\"><title>", name(row), " as ", name(column), ": ", count, "</title></rect>"});
      if (classes <= most_counts && count > 0)
        svg += text_of({"<text x=\"", svg_at(x0 + cell * (column + 0.5)), "\" y=\"",
                        svg_at(y0 + cell * (row + 0.5)),
                        "\" text-anchor=\"middle\" dominant-baseline=\"middle\">", count, "</text>"});
    }
    svg += '\n';
  }
  return svg + "</svg></figure>\n";
}

/// A chart whose axes are shares from 0 to 1, with the diagonal.
class share_chart {
 public:
  share_chart(std::string_view title, std::string_view x_name, std::string_view y_name) {
    svg_ =
        text_of({"<figure><figcaption>", escape_html(title),
                 "</figcaption>\n<svg class=\"natural\" viewBox=\"0 0 340 330\" width=\"340\" role=\"img\" "
                 "aria-label=\"",
                 escape_html(title), "\">\n"});
    for (int k = 0; k <= 5; ++k) {
      std::string const x = svg_at(x_of(k / 5.0)), y = svg_at(y_of(k / 5.0)), tick = decimal_text(k / 5.0, 1);
      svg_ += text_of({"<path class=\"grid\" d=\"M",
                       x,
                       ' ',
                       svg_at(y_of(0)),
                       " V",
                       svg_at(y_of(1)),
                       " M",
                       svg_at(x_of(0)),
                       ' ',
                       y,
                       " H",
                       svg_at(x_of(1)),
                       "\"/><text x=\"",
                       x,
                       "\" y=\"",
                       svg_at(y_of(0) + 16),
                       "\" text-anchor=\"middle\">",
                       tick,
                       "</text><text x=\"",
                       svg_at(x_of(0) - 6),
                       "\" y=\"",
                       y,
                       "\" text-anchor=\"end\" dominant-baseline=\"middle\">",
                       tick,
                       "</text>\n"});
    }
    svg_ += text_of({"<path class=\"grid\" d=\"M",
                     svg_at(x_of(0)),
                     ' ',
                     svg_at(y_of(0)),
                     " L",
                     svg_at(x_of(1)),
                     ' ',
                     svg_at(y_of(1)),
                     "\"/><text class=\"dim\" x=\"",
                     svg_at(x_of(0.5)),
                     "\" y=\"",
                     svg_at(y_of(0) + 34),
                     "\" text-anchor=\"middle\">",
                     x_name,
                     "</text><text class=\"dim\" x=\"12\" y=\"",
                     svg_at(y_of(0.5)),
                     "\" text-anchor=\"middle\" transform=\"rotate(-90 12 ",
                     svg_at(y_of(0.5)),
                     ")\">",
                     y_name,
                     "</text>\n"});
  }

  /// Begins a curve with an entry in the legend.
  void begin(std::string_view name, std::string_view value) {
    colour_ = std::to_string(curves_++ % 8);
    name_ = escape_html(name);
    legend_ += text_of({"<li><i class=\"key c", colour_, "\"></i>", name_, " <b>", value, "</b></li>"});
    line_.clear();
  }
  void point(double x, double y) { line_ += svg_at(x_of(x)) + ',' + svg_at(y_of(y)) + ' '; }
  void dot(double x, double y, double radius, std::string_view text) {
    svg_ += text_of({"<circle class=\"c", colour_, "\" cx=\"", svg_at(x_of(x)), "\" cy=\"", svg_at(y_of(y)),
                     "\" r=\"", svg_at(radius), "\"><title>", text, "</title></circle>\n"});
  }
  void end() {
    svg_ += text_of({"<polyline class=\"curve c", colour_, "\" points=\"", line_, "\"><title>", name_,
                     "</title></polyline>\n"});
  }

  std::string text() const { return svg_ + "</svg>\n<ul class=\"legend\">" + legend_ + "</ul></figure>\n"; }

 private:
  static double x_of(double share) { return 52 + 276 * share; }
  static double y_of(double share) { return 288 - 276 * share; }

  std::string svg_, legend_{}, line_{}, name_{}, colour_{};
  int curves_ = 0;
};

std::string roc_picture(roc_report const& report, std::span<std::string const> labels, char const* caption) {
  constexpr std::size_t most = 8;
  struct area {
    int column;
    double auc;
  };
  std::vector<area> shown;
  for (int c = 0; c < report.columns(); ++c)
    if (auto const auc = report.auc(c)) shown.push_back({c, *auc});
  if (shown.empty()) return {};
  bool const all = shown.size() <= most;
  if (!all) {
    std::ranges::stable_sort(shown, {}, &area::auc);
    shown.resize(most);
  }
  share_chart chart(all ? caption : "ROC curves of the 8 smallest areas", "false positive rate",
                    "true positive rate");
  for (area const& one : shown) {
    auto const k = static_cast<std::size_t>(one.column);
    chart.begin(k < labels.size() ? labels[k] : std::to_string(one.column), decimal_text(one.auc, 4));
    std::vector<roc_point> const points = report.of(one.column).points();
    roc_point drawn{.threshold = 0, .false_positive_rate = -1, .true_positive_rate = -1};
    for (std::size_t i = 0; i < points.size(); ++i) {
      roc_point const& now = points[i];
      bool const is_near = now.false_positive_rate - drawn.false_positive_rate < 0.004
                           && now.true_positive_rate - drawn.true_positive_rate < 0.004;
      if (is_near && i + 1 < points.size()) continue;
      chart.point(now.false_positive_rate, now.true_positive_rate);
      drawn = now;
    }
    chart.end();
  }
  return chart.text();
}

std::string calibration_picture(calibration_report const& report) {
  std::optional<double> const error = report.expected_error();
  if (!error) return {};
  share_chart chart(report.columns() == 1 ? "Calibration: frequency of positive examples"
                                          : "Calibration: frequency of correct predictions",
                    "predicted probability", "frequency");
  chart.begin("expected calibration error", decimal_text(*error, 4));
  for (calibration_bin const& bin : report.bins()) {
    if (bin.examples == 0) continue;
    chart.point(*bin.probability, *bin.frequency);
    double const share = static_cast<double>(bin.examples) / static_cast<double>(report.examples());
    chart.dot(*bin.probability, *bin.frequency, 2 + 10 * std::sqrt(share),
              text_of({bin.examples, bin.examples == 1 ? " example, probability " : " examples, probability ",
                       short_number(*bin.probability), ", frequency ", short_number(*bin.frequency)}));
  }
  chart.end();
  return chart.text();
}

std::string network_picture(graph_view net) {
  struct place {
    int row = 0;
    double x = 0;
  };
  std::vector<place> places(static_cast<std::size_t>(net.size()));
  auto const of = [&](int id) -> place& { return places[static_cast<std::size_t>(id)]; };
  std::vector<int> in_row;
  for (int id = 0; id < net.size(); ++id) {
    for (int const from : net.inputs(id)) of(id).row = std::max(of(id).row, of(from).row + 1);
    auto const row = static_cast<std::size_t>(of(id).row);
    if (row >= in_row.size()) in_row.resize(row + 1);
    of(id).x = in_row[row]++;
  }
  constexpr double width = 220, height = 40, gap_x = 24, gap_y = 24;
  int const widest = in_row.empty() ? 0 : *std::max_element(in_row.begin(), in_row.end());
  double const all = widest * (width + gap_x) + 2 * gap_x;
  auto const x_of = [&](int id) {  // the centre; rows are centred
    int const count = in_row[static_cast<std::size_t>(of(id).row)];
    return all / 2 + (of(id).x - (count - 1) / 2.0) * (width + gap_x);
  };
  auto const y_of = [&](int id) { return gap_y / 2 + of(id).row * (height + gap_y); };
  std::string svg = text_of({"<figure><svg class=\"natural\" width=\"", svg_at(all), "\" height=\"",
                             svg_at(static_cast<double>(in_row.size()) * (height + gap_y) + gap_y / 2),
                             "\" role=\"img\" aria-label=\"network\">\n"});
  for (int id = 0; id < net.size(); ++id)
    for (int const from : net.inputs(id)) {
      double const x0 = x_of(from), y0 = y_of(from) + height, x1 = x_of(id), y1 = y_of(id);
      // an arrow over several rows passes the boxes between them on the right
      double const aside = of(id).row - of(from).row > 1 ? 2 * width / 3 + gap_x : 0;
      svg += text_of({"<path class=\"edge\" d=\"M", svg_at(x0), ' ', svg_at(y0), " C", svg_at(x0 + aside),
                      ' ', svg_at(y0 + gap_y), ' ', svg_at(x1 + aside), ' ', svg_at(y1 - gap_y), ' ',
                      svg_at(x1), ' ', svg_at(y1), "\"/>\n"});
    }
  for (int id = 0; id < net.size(); ++id) {
    double const x = x_of(id), y = y_of(id);
    svg += text_of({"<g><title>",
                    escape_html(layer_text(net, id)),
                    "</title><rect class=\"layer\" x=\"",
                    svg_at(x - width / 2),
                    "\" y=\"",
                    svg_at(y),
                    "\" width=\"",
                    svg_at(width),
                    "\" height=\"",
                    svg_at(height),
                    "\" rx=\"4\"/><text x=\"",
                    svg_at(x),
                    "\" y=\"",
                    svg_at(y + 16),
                    "\" text-anchor=\"middle\">",
                    escape_html(net.name(id)),
                    "</text><text class=\"dim\" x=\"",
                    svg_at(x),
                    "\" y=\"",
                    svg_at(y + 31),
                    "\" text-anchor=\"middle\">",
                    escape_html(net.kind(id).name),
                    " ",
                    to_string(net[id].output),
                    "</text></g>\n"});
  }
  return svg + "</svg></figure>\n";
}

}  // namespace cohort::detail
