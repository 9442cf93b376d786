// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <cohort/graph/network.hpp>
#include <cohort/monitoring/detail/svg_chart.hpp>
#include <limits>
#include <string>
#include <vector>

namespace svg_chart_test {

using namespace cohort;
using namespace cohort::detail;

std::size_t count(std::string const& text, std::string const& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(svg_chart, escapes_what_html_reserves) {
  EXPECT_EQ(escape_html("<a b=\"c\">&'ä"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;ä");
}

TEST(svg_chart, numbers_have_at_least_four_digits) {
  EXPECT_EQ(short_number(0.123456), "0.1235");
  EXPECT_EQ(short_number(12), "12");
  EXPECT_EQ(short_number(1e-5), "1e-05");
  EXPECT_EQ(short_number(std::nan("")), "-");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-2.50001), "-2.5");
  EXPECT_EQ(short_number(10'000), "10000");
  EXPECT_EQ(short_number(123'456.7), "123457");
  EXPECT_EQ(short_number(1.25e9), "1.25e+09");
}

TEST(svg_chart, a_curve_joins_points_when_it_is_full) {
  report_curve curve("loss");
  for (int i = 0; i < 511; ++i) curve.add(i, 2 * i);
  ASSERT_EQ(curve.points().size(), 511U);
  EXPECT_EQ(curve.points()[510].y, 1020);
  curve.add(511, 1022);
  ASSERT_EQ(curve.points().size(), 256U);
  EXPECT_EQ(curve.points()[0].x, 0.5);
  EXPECT_EQ(curve.points()[255].y, 1021);
  curve.add(512, 0);
  EXPECT_EQ(curve.points().size(), 256U);  // half a point
  curve.add(514, 4);
  ASSERT_EQ(curve.points().size(), 257U);
  EXPECT_EQ(curve.points()[256].x, 513);
  EXPECT_EQ(curve.points()[256].y, 2);
  EXPECT_EQ(curve.last(), 4);
}

TEST(svg_chart, a_curve_omits_numbers_that_are_not_finite) {
  report_curve curve("loss");
  curve.add(1, std::numeric_limits<double>::infinity());
  curve.add(2, std::nan(""));
  EXPECT_TRUE(curve.points().empty());
  EXPECT_EQ(line_chart("Loss", std::array{curve}), "");
}

TEST(svg_chart, draws_roc_curves_of_the_classes_with_the_smallest_areas) {
  constexpr int classes = 10, examples = 40;
  std::vector<float> scores;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < examples; ++i) {
    labels.push_back(i % classes);
    for (int c = 0; c < classes; ++c)  // classes 3 and 7 are perfectly separated, the others in part
      scores.push_back(c == i % classes ? (c == 3 || c == 7 ? 0.9F : 0.3F)
                                        : 0.01F * static_cast<float>((i * 7 + c) % 40));
  }
  roc_report report(classes, {.steps = 1000});
  report.add({scores.data(), {examples, classes}}, {labels.data(), {examples}});
  std::vector<std::string> const names{"a", "b", "c", "<d>", "e", "f", "g", "h", "i", "j"};
  std::string const svg = roc_picture(report, names, "ROC curves");
  EXPECT_EQ(count(svg, "<polyline"), 8U);
  EXPECT_EQ(count(svg, "1.0000"), 0U);
  EXPECT_EQ(svg.find("&lt;d&gt;"), svg.npos);
  EXPECT_NE(svg.find("smallest areas"), svg.npos);
  EXPECT_NE(svg.find("points=\"52.0,288.0 "), svg.npos) << svg;
  EXPECT_NE(svg.find("328.0,12.0 \""), svg.npos);
  EXPECT_EQ(roc_picture(roc_report(2), {}, "ROC curves"), "");
}

TEST(svg_chart, a_roc_curve_has_few_points) {
  constexpr int examples = 20'000;
  std::vector<float> scores;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < examples; ++i) {
    float const score = static_cast<float>(i) / examples;
    scores.insert(scores.end(), {1 - score, score});
    labels.push_back(i * 37 % 100 < i / 200);
  }
  roc_report report(2, {.steps = 1000});
  report.add({scores.data(), {examples, 2}}, {labels.data(), {examples}});
  std::string const svg = roc_picture(report, {}, "ROC curves");
  EXPECT_GT(count(svg, ","), 100U);
  EXPECT_LT(svg.size(), 16'000U);
}

TEST(svg_chart, draws_calibration_by_bins) {
  std::vector<float> const scores{0.95F, 0.05F, 0.95F, 0.05F, 0.4F, 0.6F, 0.2F, 0.8F};
  std::vector<std::int32_t> const labels{0, 1, 1, 1};
  calibration_report report(2);
  EXPECT_EQ(calibration_picture(report), "");
  report.add({scores.data(), {4, 2}}, {labels.data(), {4}});
  std::string const svg = calibration_picture(report);
  EXPECT_EQ(count(svg, "<circle"), 3U);
  EXPECT_NE(svg.find("2 examples, probability 0.95, frequency 0.5"), svg.npos) << svg;
  EXPECT_NE(svg.find("1 example, probability 0.6, frequency 1"), svg.npos);
  EXPECT_NE(svg.find("<b>0.3750</b>"), svg.npos);
}

TEST(svg_chart, draws_curves_between_round_ticks) {
  report_curve a("a<b"), one("one");
  a.add(0, 1);
  a.add(10, 3);
  one.add(5, 2);
  std::string const svg = line_chart("Loss", std::array{a, one});
  // x from 0 to 10 is at 64 to 624; y from 1 to 3 is at 212 to 12
  EXPECT_NE(svg.find("class=\"curve c0\" points=\"64.0,212.0 624.0,12.0 \""), svg.npos) << svg;
  EXPECT_NE(svg.find("r=\"3\" cx=\"344.0\" cy=\"112.0\""), svg.npos) << svg;
  EXPECT_NE(svg.find(">2.5</text>"), svg.npos) << svg;
  EXPECT_NE(svg.find("a&lt;b <b>3</b>"), svg.npos) << svg;
  EXPECT_EQ(svg.find("a<b"), svg.npos) << svg;
}

/// The labels of a chart, of both axes.
std::vector<std::string> labels_of(std::string const& svg) {
  std::vector<std::string> all;
  for (std::size_t at = svg.find("</text>"); at != svg.npos; at = svg.find("</text>", at + 1)) {
    std::size_t const begin = svg.rfind('>', at) + 1;
    all.push_back(svg.substr(begin, at - begin));
  }
  return all;
}

TEST(svg_chart, ticks_have_different_labels) {
  auto const labels = [](double x, double to_x, double y, double to_y) {
    report_curve a("a");
    a.add(x, y);
    a.add(to_x, to_y);
    return labels_of(line_chart("Loss", std::array{a}));
  };
  using texts = std::vector<std::string>;
  EXPECT_EQ(labels(0, 10, 2.3022, 2.3026),
            (texts{"2.3022", "2.3023", "2.3024", "2.3025", "2.3026", "0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(labels(1'000'100, 1'000'200, -1, 1),
            (texts{"-1.0", "-0.5", "0.0", "0.5", "1.0", "1000100", "1000120", "1000140", "1000160", "1000180",
                   "1000200"}));
  EXPECT_EQ(labels(10'000'000, 12'000'000, 12'345, 12'350),
            (texts{"12345", "12346", "12347", "12348", "12349", "12350", "1.00e+07", "1.05e+07", "1.10e+07",
                   "1.15e+07", "1.20e+07"}));
}

TEST(svg_chart, long_labels_have_room) {
  report_curve small("small"), plateau("plateau");
  small.add(0, 1e-8);
  small.add(10, 2e-8);
  plateau.add(0, 2.302585093);
  plateau.add(10, 2.302585095);
  EXPECT_EQ(labels_of(line_chart("Loss", std::array{small})).front(), "1.0e-08");
  std::string const svg = line_chart("Loss", std::array{plateau});
  std::string const first = labels_of(svg).front();
  EXPECT_EQ(first, "2.3025850925");
  std::size_t const at = svg.find("<text x=\"");
  EXPECT_GT(std::stod(svg.substr(at + 9)), 6.2 * static_cast<double>(first.size())) << svg;
}

TEST(svg_chart, a_logarithmic_axis_shows_a_single_positive_point) {
  report_curve a("a");
  a.add(0, 0);
  a.add(1, 1e-3);
  EXPECT_EQ(count(line_chart("Ratio", std::array{a}, y_axis::logarithmic), "<circle"), 1U);
}

TEST(svg_chart, a_logarithmic_axis_has_powers_of_ten_and_omits_zero) {
  report_curve a("a");
  a.add(0, 0);
  a.add(1, 1e-3);
  a.add(2, 1e-1);
  std::string const svg = line_chart("Ratio", std::array{a}, y_axis::logarithmic);
  EXPECT_NE(svg.find("212.0 624.0,12.0 \""), svg.npos) << svg;
  for (char const* tick : {">0.001<", ">0.01<", ">0.1<"}) EXPECT_NE(svg.find(tick), svg.npos) << tick << svg;
  EXPECT_EQ(count(svg, "class=\"grid\""), 3U);
}

TEST(svg_chart, a_constant_curve_has_a_range) {
  report_curve a("a");
  a.add(0, 7);
  a.add(10, 7);
  std::string const svg = line_chart("Loss", std::array{a});
  EXPECT_NE(svg.find("points=\"64.0,112.0 624.0,112.0 \""), svg.npos) << svg;
}

TEST(svg_chart, a_bar_has_parts_in_proportion) {
  std::string const svg = stacked_bar("Step", std::array{bar_part{"a", 3}, bar_part{"b", 1}}, "ms");
  EXPECT_NE(svg.find("x=\"0.0\" y=\"0\" width=\"480.0\""), svg.npos) << svg;
  EXPECT_NE(svg.find("x=\"480.0\" y=\"0\" width=\"160.0\""), svg.npos) << svg;
  EXPECT_NE(svg.find("<td>3</td><td>75.0 %</td>"), svg.npos) << svg;
  EXPECT_EQ(stacked_bar("Step", std::array{bar_part{"a", 0}}, "ms"), "");
}

TEST(svg_chart, the_confusion_matrix_has_a_cell_for_each_pair) {
  classification_report report(3);
  std::vector<float> const scores{1, 0, 0, 0, 1, 0, 0, 1, 0};
  std::vector<std::int32_t> const labels{0, 1, 2};
  report.add(tensor_view(scores.data(), {3, 3}), std::span<std::int32_t const>(labels));
  std::vector<std::string> const names{"cat", "dog", "<owl>"};
  std::string const svg = confusion_picture(report, names);
  EXPECT_EQ(count(svg, "<rect"), 9U);
  EXPECT_NE(svg.find("<title>&lt;owl&gt; as dog: 1</title>"), svg.npos) << svg;
  EXPECT_NE(svg.find("<title>dog as &lt;owl&gt;: 0</title>"), svg.npos) << svg;
  EXPECT_EQ(confusion_picture(classification_report(3), names), "");
  EXPECT_EQ(confusion_picture(classification_report(41), {}), "");
}

TEST(svg_chart, the_network_has_a_box_for_each_layer_and_an_arrow_for_each_read) {
  graph const net = graph::build([](builder& in) {
    auto const x = in.input({4}) | dense{.units = 4, .name = "a<b"};
    return ((x | relu{} | dense{.units = 4}) + x) | dense{.units = 2} | softmax_cross_entropy{};
  });
  std::string const svg = network_picture(net);
  EXPECT_EQ(count(svg, "class=\"layer\""), static_cast<std::size_t>(net.view().size()));
  EXPECT_EQ(count(svg, "class=\"edge\""), net.view().edges.size());
  EXPECT_NE(svg.find(">a&lt;b<"), svg.npos) << svg;
}

}  // namespace svg_chart_test
