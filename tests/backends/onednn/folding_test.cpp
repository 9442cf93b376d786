// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/onednn.hpp>

#include <string>
#include <vector>

#include "../../plan/folding_cases.hpp"

namespace onednn_folding_test {

using namespace cohort;
using namespace folding_cases;

graph residual() {
  return graph::build([](builder& net) {
    auto const norm = [](tensor x, int filters, int kernel, int stride) {
      return x
             | conv2d{.filters = filters,
                      .kernel = kernel,
                      .stride = stride,
                      .padding = kernel / 2,
                      .bias = false}
             | batch_norm{};
    };
    tensor const x = norm(net.input({3, 16, 16}), 32, 3, 1) | relu{};
    tensor const y = (norm(norm(x, 32, 3, 1) | relu{}, 32, 3, 1) + x) | relu{};
    tensor const z = (norm(norm(y, 48, 3, 2) | relu{}, 48, 1, 1) + norm(y, 48, 1, 2)) | leaky_relu{};
    tensor const sum = (z | dense{.units = 20} | relu{} | dense{.units = 20}) + (z | dense{.units = 20});
    sum | softmax_cross_entropy{};
  });
}

TEST(onednn_folding, preserves_predictions) {
  each_case([](char const* name, graph const& net, std::string const&) {
    SCOPED_TRACE(name);
    expect_equal_outputs<onednn>(net, 1e-4);
  });
  expect_equal_outputs<onednn>(residual(), 1e-4);
}

TEST(onednn_folding, predicts_like_the_reference) {
  trial<onednn> one(residual(), {.batch = 3, .training = false});
  move_statistics(one);
  trial<reference<double>> oracle(residual(), {.batch = 3, .training = false});
  move_statistics(oracle);
  one.forward();
  oracle.forward();
  std::vector<double> const wanted = oracle.output();
  std::vector<float> const got = one.output();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
}

TEST(onednn_folding, fuses_norms_sums_and_activations_into_convolutions) {
  EXPECT_EQ(steps_of(*trial<onednn>(residual(), {.batch = 2, .training = false}).plan),
            "conv2d_1 + batch_norm_1 + relu_1; conv2d_2 + batch_norm_2 + relu_2; "
            "conv2d_3 + batch_norm_3 + add_1 + relu_3; conv2d_4 + batch_norm_4 + relu_4; "
            "conv2d_6 + batch_norm_6; conv2d_5 + batch_norm_5 + add_2 + leaky_relu_1; "
            "dense_1 + relu_5; dense_3; dense_2 + add_3; softmax_cross_entropy_1; ");
}

TEST(onednn_folding, runs_no_reference_implementation) {
  auto const check = [](graph const& net) {
    for (plan_row const& row : trial<onednn>(net, {.batch = 2, .training = false}).plan->rows())
      EXPECT_FALSE(row.implementation.starts_with("ref")) << row.step << ": " << row.implementation;
  };
  each_case([&](char const*, graph const& net, std::string const&) { check(net); });
  check(residual());
}

TEST(onednn_folding, does_not_affect_training_with_frozen_layers) {
  std::vector<std::string> const frozen{"conv2d_1", "batch_norm_1", "conv2d_2", "batch_norm_2"};
  trial<onednn> plain(residual(), {.batch = 3}, 1, {}, frozen);
  move_statistics(plain);
  double const loss = plain.step();
  std::vector<float> const gradients = plain.all_gradients();
  trial<onednn> predicting(residual(), {.batch = 3, .training = false}, 1, plain.store);
  predicting.forward();
  EXPECT_EQ(plain.step(), loss);
  EXPECT_EQ(plain.all_gradients(), gradients);
}

TEST(onednn_folding, preserves_predictions_up_to_rounding_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  expect_equal_outputs<onednn_bf16>(residual(), 0.02);
}

}  // namespace onednn_folding_test
