// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cmath>
#include <cohort/backend/detail/thread_scope.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "../../plan/recomputation_cases.hpp"

namespace onednn_recomputation_test {

using namespace recomputation_cases;

/// In-place tanh that stores its output twice for backward: recomputing the output from the input is cheaper
/// than keeping it.
struct noting {
  static constexpr std::string_view kind_name = "noting";
  static constexpr bool in_place = true;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  constexpr std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return 8 * batch * inputs[0].elements();
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) {
      a.output[i] = std::tanh(a.inputs[0][i]);
      if (a.workspace) a.workspace[8 * i] = a.output[i];
    }
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; a.diff_inputs[0] && i < a.elements_of_output(); ++i)
      a.diff_inputs[0][i] = a.diff_output[i] * (1 - a.workspace[8 * i] * a.workspace[8 * i]);
  }
};

/// Names of the steps that run again, including steps with so few channels that blocks are padded.
template <class B>
std::vector<std::string> remade(graph_view net) {
  std::vector<std::string> steps;
  for (plan_row const& row : trial<B>(net, {.batch = 8, .recompute = {.cheap = true}}).plan->rows())
    if (row.recomputed) steps.push_back(row.step);
  return steps;
}

template <class B>
void changes_no_bit_and_keeps_less() {
  detail::thread_scope<B> const single(1);
  changes_no_bit<B>();
  changes_no_bit_of_drawn_networks<B>(6);
  for (int const channels : {16, 19}) expect_the_same_bits<B>(residual(channels), {.cheap = true});
  EXPECT_LT(activations<B>(residual(32), {.cheap = true}),
            0.8 * static_cast<double>(activations<B>(residual(32), {})));
}

TEST(recomputation, is_bitwise_neutral_and_saves_memory) { changes_no_bit_and_keeps_less<onednn>(); }

TEST(recomputation, is_bitwise_neutral_and_saves_memory_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  changes_no_bit_and_keeps_less<onednn_bf16>();
}

TEST(recomputation, recomputes_norms_with_their_sums_and_rectifiers) {
  std::vector<std::string> const steps = remade<onednn>(residual());
  auto const has = [&](std::string const& step) {
    for (std::string const& one : steps)
      if (one == step) return true;
    return false;
  };
  EXPECT_TRUE(has("batch_norm_2 + relu_2"));
  EXPECT_TRUE(has("batch_norm_4 + add_1 + relu_3"));
  EXPECT_TRUE(has("batch_norm_5")) << "which a sum reads that runs again";
}

TEST(recomputation, preserves_the_input_of_a_recomputed_in_place_layer) {
  graph const net = graph::build([](builder& b) {
    return b.input({8}) | dense{.units = 32} | noting{.name = "noting"} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  EXPECT_EQ(remade<onednn>(net), std::vector<std::string>{"noting"});
  expect_the_same_bits<onednn>(net, {.cheap = true});
}

TEST(recomputation, skips_layers_that_keep_no_memory_between_the_passes) {
  graph const net = graph::build([](builder& b) {
    return b.input({1, 16, 16}) | conv2d{.filters = 16, .kernel = 3} | tanh_activation{}
           | conv2d{.filters = 16, .kernel = 3} | relu{} | max_pool{.window = 2} | dense{.units = 6} | relu{}
           | dense{.units = 3} | softmax_cross_entropy{};
  });
  EXPECT_EQ(remade<onednn>(net), std::vector<std::string>())
      << "activations inside of convolutions; a rectifier in the place of its pool, which keeps its choice";
}

}  // namespace onednn_recomputation_test
