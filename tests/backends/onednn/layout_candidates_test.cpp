// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <algorithm>
#include <cmath>
#include <cohort/graph/network.hpp>
#include <cohort/plan/tuned_operation.hpp>
#include <set>
#include <string>
#include <vector>

#include "../../plan/trial.hpp"
#include "networks.hpp"

namespace layout_candidates_test {

using namespace cohort;

/// Selects the candidate of a given name if it exists, times all candidates on request, and records their
/// names.
struct one_way final : tuning, step_autotuner_for<onednn>, step_autotuner_for<onednn_bf16> {
  std::string wanted;
  bool times = false;
  std::set<std::string> known{};
  std::vector<std::string> asked{};
  int timed = 0;

  explicit one_way(std::string name) : wanted(std::move(name)) {}
  std::size_t choose(std::string const& what, std::span<std::string const> ways,
                     stopwatch const& seconds_of) override {
    asked.push_back(what);
    known.insert(ways.begin(), ways.end());
    for (std::size_t way = 0; times && way < ways.size(); ++way) timed += std::isfinite(seconds_of(way));
    auto const at = std::find(ways.begin(), ways.end(), wanted);
    return at == ways.end() ? 0 : static_cast<std::size_t>(at - ways.begin());
  }
};

/// Strides, channels that do and do not fill blocks, a sequence, dense layers after an image and after each
/// other.
graph strided() {
  return graph::build([](builder& net) {
    return net.input({3, 17, 17}) | conv2d{.filters = 32, .kernel = 5, .stride = 2, .padding = 2} | relu{}
           | conv2d{.filters = 48, .kernel = 3, .stride = 2} | leaky_relu{}
           | conv2d{.filters = 20, .kernel = 1} | dense{.units = 24} | relu{} | dense{.units = 5}
           | softmax_cross_entropy{};
  });
}

/// Euclidean norm of the difference of all results of a step, relative to that of `b`.
template <class T>
double distance(std::vector<T> const& a, std::vector<T> const& b) {
  double difference = 0, norm = 1e-60;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

template <class B>
void all_candidates_agree(double tolerance) {
  for (graph const& net : {strided(), onednn_test::lenet(), onednn_test::odd()}) {
    trial<B> plain(net, {.batch = 4});
    double const loss = plain.step();
    one_way names("");
    trial<B> const asking(net, {.batch = 4, .tune = &names});
    EXPECT_GE(names.known.size(), 10U);
    std::set<std::string> layouts;
    for (std::string const& name : names.known) {
      one_way by(name);
      trial<B> t(net, {.batch = 4, .tune = &by});
      EXPECT_NEAR(t.step(), loss, tolerance * loss) << name;
      EXPECT_LT(distance(t.all_gradients(), plain.all_gradients()), tolerance) << name;
      std::string all;
      for (plan_row const& row : t.plan->rows()) {
        all += row.layout + ' ' + row.implementation.substr(0, row.implementation.find(',')) + '\n';
        EXPECT_FALSE(row.implementation.starts_with("ref")) << name;
      }
      layouts.insert(all);
    }
    EXPECT_GE(layouts.size(), 3U) << "names that change nothing";
  }
}

/// The candidates add the same products in f32, in other orders: 3e-7 on AVX2 and AVX-512.
TEST(layout_candidates, agree_in_f32) { all_candidates_agree<onednn>(3e-6); }

/// Sums in f32 that differ in their last bits may be rounded to neighbouring bf16 numbers, 2⁻⁸ apart. The
/// error is 4e-8 on AVX-512, where nearly all sums are rounded to the same number. Another layer's weights or
/// another row would give about 1.
TEST(layout_candidates, agree_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  all_candidates_agree<onednn_bf16>(0.01);
}

std::string kernel_of(plan const& made, std::string const& step) {
  for (plan_row const& row : made.rows())
    if (row.step == step && row.implementation != "reorder") return row.implementation;
  return {};
}

TEST(layout_candidates, for_inference_exclude_backward_and_include_a_direct_convolution) {
  graph const net = graph::build([](builder& b) {
    return b.input({32, 16, 16}) | conv2d{.filters = 32, .kernel = 3, .padding = 1} | global_avg_pool{}
           | softmax_cross_entropy{};
  });
  trial<onednn> plain(net, {.batch = 2, .training = false});
  one_way direct("direct");
  trial<onednn> t(net, {.batch = 2, .training = false, .tune = &direct});
  EXPECT_TRUE(kernel_of(*plain.plan, "conv2d_1").starts_with("winograd"));
  std::string const tuned = kernel_of(*t.plan, "conv2d_1");
  EXPECT_TRUE(tuned.ends_with(", tuned: direct") && !tuned.starts_with("winograd")) << tuned;
  for (std::string const& name : direct.known) EXPECT_EQ(name.find("weights any"), name.npos);
  plain.forward();
  t.forward();
  EXPECT_LT(distance(t.output(), plain.output()), 1e-5);
}

TEST(layout_candidates, are_timed_for_each_convolution_and_dense_layer) {
  one_way by("rule");
  by.times = true;
  trial<onednn> const t(strided(), {.batch = 2, .tune = &by});
  EXPECT_EQ(by.asked.size(), 5U);
  EXPECT_GT(by.timed, 8);
}

TEST(layout_candidates, are_chosen_separately_for_each_number_of_threads) {
  one_way by("rule");
  for (int const threads : {1, 2}) {
    detail::thread_scope<onednn> const scope(threads);
    trial<onednn> const t(strided(), {.batch = 2, .tune = &by});
  }
  EXPECT_NE(by.asked.front(), by.asked.back());
  EXPECT_NE(by.asked.front(), by.asked[5]);
  EXPECT_NE(by.asked.front().find("oneDNN 3."), std::string::npos) << by.asked.front();
}

TEST(layout_candidates, exist_only_for_strides_or_partial_blocks_without_groups) {
  graph const net = graph::build([](builder& b) {
    return b.input({32, 8, 8}) | conv2d{.filters = 32, .kernel = 3, .stride = 2, .groups = 2}
           | conv2d{.filters = 48, .kernel = 2} | global_avg_pool{} | softmax_cross_entropy{};
  });
  one_way by("rule");
  trial<onednn> const t(net, {.batch = 2, .tune = &by});
  EXPECT_TRUE(by.asked.empty());
}

}  // namespace layout_candidates_test
