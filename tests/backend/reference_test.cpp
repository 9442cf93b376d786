// SPDX-License-Identifier: Apache-2.0
// covers: backend/tensor_backend
#include <gtest/gtest.h>
#include <cohort/backend/detail/reference_convolution.hpp>
#include <cohort/backend/detail/reference_dense.hpp>
#include <cohort/backend/detail/reference_elementwise.hpp>
#include <cohort/backend/detail/reference_pooling.hpp>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "../plan/trial.hpp"

namespace reference_test {

using namespace cohort;
using B = reference<double>;

tensor convolutions(builder& net) {
  return net.input({2, 4, 5})
         | conv2d{.filters = 3, .kernel = {3, 2}, .stride = {1, 2}, .padding = padding(2, 1, 1, 0)}
         | leaky_relu{.slope = 0.1}
         | conv2d{.filters = 2, .kernel = 2, .stride = {2, 1}, .padding = padding::same, .bias = false}
         | dense{.units = 3};
}
tensor pools(builder& net) {
  return net.input({1, 7, 6}) | conv2d{.filters = 2, .kernel = 2} | relu{}
         | max_pool{.window = 3, .stride = 2, .padding = 1} | max_pool{.window = 2, .stride = 1}
         | dense{.units = 4};
}
tensor joins(builder& net) {
  tensor const x = net.input({5});
  tensor const a = x | dense{.units = 4} | relu{}, b = x | dense{.units = 4};
  return concat(a + b, a) | dense{.units = 3, .bias = false};
}

/// Sums of at most 54 terms of size 1, in another order than PyTorch's: 54·2⁻⁵³ per layer, four layers, and a
/// margin.
constexpr double tolerance = 1e-13;

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << what << ' ' << i;
}

void compare(golden_case const& wanted, tensor (*body)(builder&)) {
  int const batch = static_cast<int>(numbers_of(wanted, "batch").at(0));
  graph const logits = graph::build([&](builder& net) { return body(net); });
  graph const whole = graph::build([&](builder& net) { return body(net) | softmax_cross_entropy{}; });
  trial<B> trained(whole, {.batch = batch});
  trial<B> inferred(logits, {.batch = batch, .training = false}, 1, trained.store);
  for (int p = 0; p < trained.parameters(); ++p) {
    auto const& values = numbers_of(wanted, "parameter " + trained.parameter(p).name);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), trained.parameter(p).spec.dims.elements());
    trained.store->write(p, reinterpret_cast<std::byte const*>(values.data()), trained.store->master());
  }
  std::vector<double> const& input = numbers_of(wanted, "input");
  ASSERT_EQ(input.size(), trained.batch.inputs[0].size());
  trained.batch.inputs[0].assign(input.begin(), input.end());
  for (std::size_t n = 0; n < trained.batch.indices[0].size(); ++n)
    trained.batch.indices[0][n] = static_cast<std::int32_t>(numbers_of(wanted, "target").at(n));

  inferred.run->forward(trained.batch.input_views, {});
  expect_near(inferred.output(), numbers_of(wanted, "output"), "output");
  EXPECT_NEAR(trained.step(), numbers_of(wanted, "loss").at(0), tolerance);
  for (int p = 0; p < trained.parameters(); ++p)
    expect_near(trained.gradient(p), numbers_of(wanted, "gradient " + trained.parameter(p).name),
                trained.parameter(p).name);
}

TEST(reference, agrees_with_pytorch) {
  auto cases = read_golden_cases("layers.txt");
  ASSERT_EQ(cases.size(), 3U);
  compare(cases["convolutions"], convolutions);
  compare(cases["pools"], pools);
  compare(cases["joins"], joins);
}

TEST(reference, passes_the_gradient_of_a_tie_to_the_first_maximum) {
  max_pool const l{.window = 2};
  shape const input{1, 2, 2};
  double const x[]{5, 5, 5, 5}, diff_output[]{3};
  double diff_input[4]{-1, -1, -1, -1};
  double const* const inputs[]{x};
  double* const diff_inputs[]{diff_input};
  detail::reference_backward(l, host_arguments<double>{.batch = 1,
                                                       .input_shapes = {&input, 1},
                                                       .output_shape = {1, 1, 1},
                                                       .inputs = inputs,
                                                       .diff_output = diff_output,
                                                       .diff_inputs = diff_inputs});
  EXPECT_EQ(std::vector<double>(diff_input, diff_input + 4), (std::vector<double>{3, 0, 0, 0}));
}

TEST(reference, is_deterministic) {
  auto const run = [] {
    trial<reference<float>> t(graph::build([](builder& net) { return pools(net) | softmax_cross_entropy{}; }),
                              {.batch = 5});
    t.step();
    return t.all_gradients();
  };
  EXPECT_EQ(run(), run());
}

static_assert(tensor_backend<reference<float>> && tensor_backend<reference<double>>);
static_assert(!tensor_backend<shape>);

}  // namespace reference_test
