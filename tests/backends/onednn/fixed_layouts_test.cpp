// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cohort/graph/network.hpp>
#include <string>

#include "../../plan/trial.hpp"

// Layouts that are chosen without timing.
namespace fixed_layouts_test {

using namespace cohort;

/// Bytes of working copies per weight of a dense layer after an image.
double copied_bytes(int inputs, int units) {
  graph const net = graph::build([&](builder& b) {
    return b.input({3, 16, 16})
           | conv2d{.filters = inputs / 64, .kernel = 3, .stride = 2, .padding = padding::same}
           | dense{.units = units} | dense{.units = 1} | mean_squared_error{};
  });
  trial<onednn_bf16> const t(net, {.batch = 2});
  return static_cast<double>(t.plan->memory().working_copies) / inputs / units;
}

TEST(fixed_layouts, have_one_copy_of_large_dense_weights_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  EXPECT_NEAR(copied_bytes(2048, 2048), 2, 0.1);  // a plain bf16 copy, which forward and backward share
}

template <class B>
std::string layout_of_convolution(int channels) {
  graph const net = graph::build([&](builder& b) {
    return b.input({channels, 12, 12}) | conv2d{.filters = 20, .kernel = 5} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  trial<B> const t(net, {.batch = 2});
  for (plan_row const& row : t.plan->rows())
    if (row.implementation != "reorder") return row.layout;
  return "";
}

TEST(fixed_layouts, use_channels_last_if_channels_do_not_fill_blocks) {
  EXPECT_NE(layout_of_convolution<onednn>(20).find("acdb"), std::string::npos);
  EXPECT_EQ(layout_of_convolution<onednn>(1).find("acdb"), std::string::npos);
}

TEST(fixed_layouts, use_channels_last_for_one_channel_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  EXPECT_NE(layout_of_convolution<onednn_bf16>(1).find("acdb"), std::string::npos);
}

}  // namespace fixed_layouts_test
