// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/layer/recurrent.hpp>

#include <set>
#include <vector>

#include "lone_layer.hpp"

namespace recurrent_dropout_test {

using namespace cohort;
using numbers = std::vector<double>;

constexpr int batch = 4, steps = 6, units = 8;

/// h' = x + R·h with R = `recurrent` times the identity, on sequences of ones.
lone_layer<> adder(simple_rnn l, double recurrent) {
  l.activation = recurrent_activation::identity;
  numbers identity(units * units), scaled(units * units);
  for (std::size_t u = 0; u < units; ++u) {
    identity[u * (units + 1)] = 1;
    scaled[u * (units + 1)] = recurrent;
  }
  return {
      l, batch, {{steps, units}}, {numbers(batch * steps * units, 1)}, {identity, scaled, numbers(units)}};
}

double at(numbers const& output, int example, int step, int unit) {
  return output[static_cast<std::size_t>((example * steps + step) * units + unit)];
}

/// Gal and Ghahramani's dropout: an example drops the same inputs in all steps.
TEST(recurrent_dropout, uses_the_same_input_mask_in_all_steps_of_an_example) {
  lone_layer<> run = adder({.units = units, .dropout = 0.5}, 0);
  run.scalars = {.seed = 3, .step = 7};
  numbers const out = run.forward();
  std::set<numbers> masks;
  int kept = 0;
  for (int n = 0; n < batch; ++n) {
    numbers mask;
    for (int u = 0; u < units; ++u) {
      double const first = at(out, n, 0, u);
      EXPECT_TRUE(first == 0 || first == 2) << first;
      for (int t = 1; t < steps; ++t) EXPECT_EQ(at(out, n, t, u), first);
      mask.push_back(first);
      kept += first > 0 ? 1 : 0;
    }
    masks.insert(mask);
  }
  EXPECT_EQ(masks.size(), batch);
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, batch * units);
  run.scalars.step = 8;
  EXPECT_NE(run.forward(), out);
  EXPECT_EQ(run.forward(false), numbers(out.size(), 1));
}

TEST(recurrent_dropout, uses_the_same_state_mask_in_all_steps_of_an_example) {
  lone_layer<> run = adder({.units = units, .recurrent_dropout = 0.5}, 1);
  run.scalars = {.seed = 3, .step = 7};
  numbers const out = run.forward();
  int kept = 0;
  for (int n = 0; n < batch; ++n)
    for (int u = 0; u < units; ++u) {
      EXPECT_EQ(at(out, n, 0, u), 1);
      double const factor = at(out, n, 1, u) - 1;
      EXPECT_TRUE(factor == 0 || factor == 2) << factor;
      kept += factor > 0 ? 1 : 0;
      for (int t = 1; t < steps; ++t) EXPECT_EQ(at(out, n, t, u), 1 + factor * at(out, n, t - 1, u));
    }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, batch * units);
  numbers const whole = run.forward(false);
  for (int t = 0; t < steps; ++t) EXPECT_EQ(at(whole, 0, t, 0), t + 1);
}

TEST(recurrent_dropout, draws_different_masks_for_inputs_and_states) {
  lone_layer<> run = adder({.units = units, .dropout = 0.5, .recurrent_dropout = 0.5}, 1);
  run.scalars = {.seed = 3, .step = 7};
  numbers const out = run.forward();
  int both = 0, input_only = 0;
  for (int n = 0; n < batch; ++n)
    for (int u = 0; u < units; ++u) {
      if (at(out, n, 0, u) == 0) continue;  // the input is dropped
      bool const keeps_state = at(out, n, 1, u) > at(out, n, 0, u);
      ++(keeps_state ? both : input_only);
    }
  EXPECT_GT(both, 0);
  EXPECT_GT(input_only, 0);
}

}  // namespace recurrent_dropout_test
