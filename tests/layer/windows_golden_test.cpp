// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/plan/parameter_update.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "../plan/trial.hpp"

namespace windows_golden_test {

using namespace cohort;
using B = reference<double>;

tensor convolutions(builder& net) {
  return net.input({4, 5, 6})
         | conv2d{.filters = 4,
                  .kernel = {3, 2},
                  .stride = {1, 2},
                  .padding = padding(2, 2, 1, 1),
                  .dilation = {2, 1},
                  .groups = 2}
         | conv2d{.filters = 8, .kernel = {4, 2}, .padding = padding::same, .groups = 4, .bias = false}
         | relu{} | global_avg_pool{};
}
tensor separable(builder& net) {
  return net.input({3, 4, 3})
         | separable_conv2d{.filters = 2, .kernel = 3, .padding = padding::same, .multiplier = 2}
         | dense{.units = 3};
}
tensor transpositions(builder& net) {
  return net.input({2, 2, 3}) | conv2d_transposed{.filters = 4, .kernel = {3, 2}, .stride = 2, .groups = 2}
         | relu{} | conv2d_transposed{.filters = 2, .kernel = 3, .stride = 2, .padding = padding(1, 0, 1, 0)}
         | conv2d_transposed{.filters = 3,
                             .kernel = {2, 4},
                             .stride = {1, 2},
                             .padding = padding::same,
                             .dilation = {2, 1},
                             .bias = false}
         | relu{} | global_avg_pool{};
}
tensor sequences(builder& net) {
  tensor const x = net.input({8, 2})
                   | conv1d{.filters = 4, .kernel = 3, .padding = 2, .dilation = 2, .groups = 2} | relu{}
                   | conv1d{.filters = 3, .kernel = 5, .stride = 2, .padding = padding::same, .bias = false};
  return concat(x | global_avg_pool{}, x | global_max_pool{});
}
tensor pools(builder& net) {
  tensor const x = net.input({1, 6, 7}) | conv2d{.filters = 7, .kernel = 2}
                   | lrn{.k = 1.5, .alpha = 0.2, .beta = 0.6}
                   | avg_pool{.window = 3, .stride = 2, .padding = 1};
  return concat(x | global_avg_pool{}, x | global_max_pool{});
}
tensor norms(builder& net) {
  return net.input({2, 4, 5}) | conv2d{.filters = 3, .kernel = 2} | relu{} | batch_norm{}
         | layer_norm{.axes = 2} | dense{.units = 5} | relu{} | layer_norm{.epsilon = 0.01}
         | batch_norm{.epsilon = 0.001} | dense{.units = 3};
}

/// Sums of at most 100 terms of size 1, in another order than PyTorch's: 100·2⁻⁵³ per layer. Norms may also
/// divide by a deviation of 0.1.
constexpr double tolerance = 2e-13;

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << what << ' ' << i;
}

void compare(std::string const& name, tensor (*body)(builder&)) {
  SCOPED_TRACE(name);
  golden_case const wanted = read_golden_cases("layers_windows.txt")[name];
  int const batch = static_cast<int>(numbers_of(wanted, "batch").at(0));
  graph const logits = graph::build([&](builder& net) { return body(net); });
  graph const whole = graph::build([&](builder& net) { return body(net) | softmax_cross_entropy{}; });
  trial<B> trained(whole, {.batch = batch});
  for (int p = 0; p < trained.parameters(); ++p) {
    auto const& values = numbers_of(wanted, "parameter " + trained.parameter(p).name);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), trained.parameter(p).spec.dims.elements());
    trained.store->write(p, reinterpret_cast<std::byte const*>(values.data()), trained.store->master());
  }
  std::vector<double> const& input = numbers_of(wanted, "input");
  ASSERT_EQ(input.size(), trained.batch.inputs[0].size());
  trained.batch.inputs[0] = input;
  std::vector<double> const& labels = numbers_of(wanted, "target");
  std::transform(labels.begin(), labels.end(), trained.batch.indices[0].begin(),
                 [](double label) { return static_cast<std::int32_t>(label); });

  batch_statistics statistics(*trained.store, 1);
  EXPECT_NEAR(trained.step(false, nullptr, statistics.part(0)), numbers_of(wanted, "loss").at(0), tolerance);
  for (int p = 0; p < trained.parameters(); ++p)
    if (is_trained(trained.parameter(p).spec.role))
      expect_near(trained.gradient(p), numbers_of(wanted, "gradient " + trained.parameter(p).name),
                  trained.parameter(p).name);

  parameter_update update(*trained.store, {.rule = sgd{.learning_rate = 0.1}});
  std::byte* const parts[]{trained.run->gradients()};
  update.apply({.parts = parts});
  statistics.follow(*trained.store);
  for (int p = 0; p < trained.parameters(); ++p)
    if (!is_trained(trained.parameter(p).spec.role))
      expect_near(trained.dense(p, trained.store->master()),
                  numbers_of(wanted, "after " + trained.parameter(p).name), trained.parameter(p).name);
  trial<B> inferred(logits, {.batch = batch, .training = false}, 1, trained.store);
  inferred.run->forward(trained.batch.input_views, {});
  expect_near(inferred.output(), numbers_of(wanted, "inferred"), "inferred");
}

TEST(windows_golden, convolutions_agree_with_pytorch) {
  compare("convolutions", convolutions);
  compare("separable", separable);
  compare("sequences", sequences);
}

TEST(windows_golden, transposed_convolutions_agree_with_pytorch) {
  compare("transpositions", transpositions);
}

TEST(windows_golden, pools_and_local_response_normalisation_agree_with_pytorch) { compare("pools", pools); }

TEST(windows_golden, norms_and_their_running_statistics_agree_with_pytorch) { compare("norms", norms); }

TEST(windows_golden, has_the_expected_number_of_golden_cases) {
  EXPECT_EQ(read_golden_cases("layers_windows.txt").size(), 6U);
}

}  // namespace windows_golden_test
