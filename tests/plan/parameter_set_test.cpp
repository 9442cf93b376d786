// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/plan_text.hpp>
#include <string>
#include <vector>

#include "trial.hpp"

namespace parameter_set_test {

using namespace cohort;
using B = reference<double>;
using strings = std::vector<std::string>;

graph deep() {
  return graph::build([](builder& net) {
    return net.input({2, 6, 6}) | conv2d{.filters = 3, .kernel = 3} | batch_norm{} | sigmoid{}
           | conv2d{.filters = 4, .kernel = 3} | relu{} | dense{.units = 5} | softmax_cross_entropy{};
  });
}

strings backward_steps(plan const& made) {
  strings steps;
  for (plan_row const& row : made.rows())
    if (row.direction == plan_pass::backward) steps.push_back(row.step);
  return steps;
}

/// Running statistics as after some batches: not 0 and 1.
template <class Backend>
void set_statistics(trial<Backend>& of) {
  for (int p = 0; p < of.parameters(); ++p) {
    if (is_trained(of.parameter(p).spec.role)) continue;
    bool const mean = of.parameter(p).spec.role == parameter_role::running_mean;
    auto values = of.dense(p, of.store->master());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = mean ? 0.25 * i : 1.5 + 0.5 * i;
    of.store->write(p, reinterpret_cast<std::byte const*>(values.data()), of.store->master());
  }
  of.store->mark_changed();
}

TEST(parameter_set, freezes_the_lowest_layers_without_running_their_backward) {
  trial<B> all(deep(), {.batch = 3}),
      head(deep(), {.batch = 3}, 1, {}, {"conv2d_1", "batch_norm_1", "conv2d_2"});
  EXPECT_EQ(backward_steps(*head.plan), (strings{"softmax_cross_entropy_1", "dense_1"}));
  EXPECT_LT(head.plan->memory().activations, all.plan->memory().activations);
  std::string const shown = text_of(*head.plan);
  EXPECT_NE(shown.find("\nfrozen    conv2d_2"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("backward  conv2d_2"), std::string::npos) << shown;
  ASSERT_EQ(head.store->buckets().size(), 1U);
  EXPECT_EQ(head.store->buckets()[0].elements, 5 * 16 + 5);
  head.step();
  for (int p = 0; p < head.parameters(); ++p) {
    std::vector<double> const got = head.gradient(p);
    EXPECT_EQ(std::ranges::all_of(got, [](double g) { return g == 0; }), head.parameter(p).frozen)
        << head.parameter(p).name;
  }
}

TEST(parameter_set, freezes_an_inner_layer_without_changing_gradients_of_others) {
  trial<B> all(deep(), {.batch = 3}), rest(deep(), {.batch = 3}, 1, {}, {"conv2d_2"});
  std::vector<int> announced;
  ready_function const ready = [&](bucket const& one) { announced.push_back(one.index); };
  all.step();
  rest.step(false, &ready);
  for (int p = 0; p < rest.parameters(); ++p)
    EXPECT_EQ(rest.gradient(p),
              rest.parameter(p).frozen ? std::vector<double>(rest.gradient(p).size()) : all.gradient(p))
        << rest.parameter(p).name;
  EXPECT_EQ(announced, (std::vector<int>{0, 1}));
}

TEST(parameter_set, frozen_batch_norm_uses_its_running_statistics) {
  trial<B> held(deep(), {.batch = 3}, 1, {}, {"batch_norm_1"});
  set_statistics(held);
  trial<B> inference(deep(), {.batch = 3, .training = false}, 1, held.store);
  double const loss = held.step();
  inference.run->forward({.inputs = held.batch.input_views});
  std::vector<double> const output = inference.output();
  double expected = 0;
  for (std::size_t n = 0; n < 3; ++n)
    expected -= std::log(output[n * 5 + static_cast<std::size_t>(held.batch.indices[0][n])]) / 3;
  EXPECT_NEAR(loss, expected, 1e-12);
  // The gradient of the layer below is the derivative of this loss.
  auto const gradient = held.gradient(0);
  auto weights = held.dense(0, held.store->master());
  for (std::size_t i = 0; i < weights.size(); i += 7) {
    double const before = weights[i], epsilon = 1e-6;
    double losses[2];
    for (int side = 0; side < 2; ++side) {
      weights[i] = before + (side == 0 ? epsilon : -epsilon);
      held.store->write(0, reinterpret_cast<std::byte const*>(weights.data()), held.store->master());
      losses[side] = held.forward();
    }
    weights[i] = before;
    EXPECT_NEAR(gradient[i], (losses[0] - losses[1]) / (2 * epsilon), 1e-8) << i;
  }
}

TEST(parameter_set, refuses_to_freeze_after_the_first_plan) {
  trial<B> made(deep(), {.batch = 1});
  EXPECT_THROW(made.store->freeze([](std::size_t) { return true; }), setting_error);
}

}  // namespace parameter_set_test
