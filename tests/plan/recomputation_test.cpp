// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/plan/recomputation.hpp>

#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "recomputation_cases.hpp"

namespace recomputation_test {

using namespace recomputation_cases;
using B = reference<float>;

std::vector<std::string> remade(graph_view net, recomputation const& how) {
  std::vector<std::string> steps;
  for (plan_row const& row : trial<B>(net, {.batch = 8, .recompute = how}).plan->rows())
    if (row.recomputed) steps.push_back(row.step);
  return steps;
}

/// Two blocks between a stem and a head.
graph blocks() {
  return graph::build([](builder& b) {
    return b.input({1, 8, 8}) | conv2d{.filters = 8, .kernel = 3, .padding = 1, .name = "stem"}
           | conv2d{.filters = 8, .kernel = 3, .padding = 1, .name = "first_in"} | relu{.name = "first_relu"}
           | conv2d{.filters = 8, .kernel = 3, .padding = 1, .name = "first_out"}
           | conv2d{.filters = 8, .kernel = 3, .padding = 1, .name = "second_in"}
           | gelu{.name = "second_gelu"}
           | conv2d{.filters = 8, .kernel = 3, .padding = 1, .name = "second_out"}
           | dense{.units = 3, .name = "head"} | softmax_cross_entropy{};
  });
}

TEST(recomputation, preserves_results_bitwise) {
  changes_no_bit<reference<float>>();
  changes_no_bit<reference<double>>();
}

TEST(recomputation, preserves_results_of_random_networks_bitwise) { changes_no_bit_of_drawn_networks<B>(40); }

TEST(recomputation, reduces_activation_memory) {
  graph const net = residual();
  std::size_t const kept = activations<B>(net, {});
  EXPECT_LT(activations<B>(net, {.cheap = true}), 0.75 * static_cast<double>(kept));
  EXPECT_LT(activations<B>(blocks(), {.blocks = {"first_*", "second_*"}}), activations<B>(blocks(), {}));
}

TEST(recomputation, recomputes_the_inner_layers_of_a_block_but_stores_outputs_with_other_readers) {
  EXPECT_EQ(remade(blocks(), {.blocks = {"first_*"}}), (std::vector<std::string>{"first_in", "first_relu"}));
  EXPECT_EQ(remade(blocks(), {.blocks = {"first_*", "second_*"}}),
            (std::vector<std::string>{"second_in", "second_gelu", "first_in", "first_relu"}));
  EXPECT_EQ(remade(blocks(), {.blocks = {"second_in", "second_gelu", "head"}}), std::vector<std::string>())
      << "each a block of its own, whose output others read";
}

TEST(recomputation, reports_nothing_if_nothing_is_recomputed) {
  graph const net = graph::build([](builder& b) {
    return b.input({1, 8, 8}) | conv2d{.filters = 8, .kernel = 3} | dense{.units = 6} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  trial<B> const t(net, {.batch = 8, .recompute = {.cheap = true}});
  EXPECT_EQ(t.plan->recomputed().kernels, 0);
  EXPECT_EQ(t.plan->recomputed().bytes_saved, 0U);
  EXPECT_EQ(t.plan->memory().activations, activations<B>(net, {}));
  EXPECT_EQ(text_of(*t.plan).find("recomputation"), std::string::npos);
}

TEST(recomputation, does_not_recompute_layers_that_sum_over_workers) {
  graph const net = graph::build([](builder& b) {
    return b.input({1, 8, 8}) | conv2d{.filters = 8, .kernel = 3, .name = "c_1"}
           | synchronised_batch_norm{.name = "c_norm"} | gelu{.name = "c_gelu"}
           | conv2d{.filters = 8, .kernel = 3, .name = "c_2"} | dense{.units = 3} | softmax_cross_entropy{};
  });
  EXPECT_EQ(remade(net, {.cheap = true}), std::vector<std::string>{"c_gelu"});
  EXPECT_EQ(remade(net, {.blocks = {"c_*"}}), (std::vector<std::string>{"c_gelu", "c_1"}));
}

TEST(recomputation, reports_the_flops_bytes_and_kernels_of_recomputation) {
  trial<B> const t(residual(), {.batch = 8, .recompute = {.cheap = true}});
  recomputation_cost const cost = t.plan->recomputed();
  double flops = 0, moved = 0, all = 0;
  int kernels = 0;
  for (plan_row const& row : t.plan->rows()) {
    all += row.bytes;
    if (!row.recomputed) continue;
    EXPECT_EQ(row.direction, plan_pass::backward);
    flops += row.flops, moved += row.bytes, ++kernels;
  }
  EXPECT_EQ(cost.kernels, kernels);
  EXPECT_EQ(cost.flops, flops);
  EXPECT_EQ(cost.bytes_moved, moved);
  EXPECT_EQ(cost.share_of_bytes, moved / all);
  EXPECT_LE(moved, recomputation::max_bytes_moved_per_byte_saved * static_cast<double>(cost.bytes_saved));
  expect_parts(text_of(*t.plan), {"recompute ", "\nrecomputation: ", " kernels run again, ",
                                  " % of the step's bytes), to save ", "\n"});
}

TEST(recomputation, refuses_blocks_that_match_no_layer) {
  expect_parts(
      refused<setting_error>([] {
        remade(blocks(), {.blocks = {"first_*", "third_*"}});
      }),
      {"no layer matches this block to recompute", "recompute.blocks[1]", "stem, first_in", "third_*"});
  EXPECT_THROW(remade(blocks(), {.blocks = {""}}), setting_error);
}

TEST(recomputation, allows_a_larger_batch_in_the_same_memory) {
  graph const net = residual();
  auto const needs = [&](int batch, bool cheap) {
    return trial<B>(net, {.batch = batch, .recompute = {.cheap = cheap}}).plan->memory().total();
  };
  std::size_t const limit = needs(10, false) - 1;
  auto const make = [&](bool cheap) {
    trial<B>(net, {.batch = 10, .max_bytes = limit, .recompute = {.cheap = cheap}});
  };
  EXPECT_THROW(make(false), memory_error);
  EXPECT_NO_THROW(make(true));
}

}  // namespace recomputation_test
