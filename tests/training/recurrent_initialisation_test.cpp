// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/training/trainer.hpp>

#include <algorithm>
#include <vector>

#include "parameters_of.hpp"

namespace recurrent_initialisation_test {

using namespace cohort;
using cohort_test::parameters_of;

constexpr int features = 3, units = 5;

/// The parameters of one layer, in their order.
template <layer L>
std::vector<std::vector<double>> begun(L const& l) {
  graph const net = graph::build([&](builder& b) { return b.input({4, features}) | l; });
  training made = trainer<reference<double>>(net, {.seed = 3});
  std::vector<double> const all = parameters_of(made);
  std::vector<std::vector<double>> parts;
  auto from = all.begin();
  for (parameter_spec const& one : net.view().parameters(1)) {
    auto const count = static_cast<std::ptrdiff_t>(one.dims.elements());
    parts.emplace_back(from, from + count);
    from += count;
  }
  return parts;
}

TEST(recurrent_initialisation, the_forget_gate_has_a_separate_bias) {
  std::vector<double> wanted(4 * units);
  std::fill_n(wanted.begin() + units, units, 1.0);
  EXPECT_EQ(begun(lstm{.units = units})[2], wanted);
  std::fill_n(wanted.begin() + units, units, 0.25);
  EXPECT_EQ(begun(lstm{.units = units, .forget_bias = 0.25})[2], wanted);
  EXPECT_EQ(begun(gru{.units = units})[2], std::vector<double>(3 * units));
}

/// Columns of the recurrent weights, G·U × U, are orthonormal.
TEST(recurrent_initialisation, recurrent_weights_are_orthogonal) {
  auto const expect_orthogonal = [](std::vector<double> const& weights) {
    auto const rows = weights.size() / units;
    for (std::size_t a = 0; a < units; ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double sum = 0;
        for (std::size_t r = 0; r < rows; ++r) sum += weights[r * units + a] * weights[r * units + b];
        EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-12) << a << ' ' << b;
      }
  };
  expect_orthogonal(begun(simple_rnn{.units = units})[1]);
  expect_orthogonal(begun(lstm{.units = units})[1]);
  expect_orthogonal(begun(gru{.units = units})[1]);
  EXPECT_EQ(begun(gru{.units = units, .settings = {.recurrent = init::zeros{}}})[1],
            std::vector<double>(3 * units * units));
}

}  // namespace recurrent_initialisation_test
