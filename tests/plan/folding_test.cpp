// SPDX-License-Identifier: Apache-2.0
// covers: layer/channel_map
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/plan/detail/folding.hpp>

#include <string>
#include <vector>

#include "folding_cases.hpp"

namespace folding_test {

using namespace cohort;
using namespace folding_cases;
using B = reference<double>;

TEST(folding, composes_channel_maps_in_order) {
  constexpr channel_map twice{.factor = 2, .offset = 1}, thrice{.factor = 3, .offset = -4};
  EXPECT_TRUE(twice.then(thrice).factor == 6 && twice.then(thrice).offset == -1);
  EXPECT_TRUE(thrice.then(twice).factor == 6 && thrice.then(twice).offset == -7);
}

TEST(folding, of_a_norm_or_scale_computes_factor_and_offset) {
  std::vector<double> const parameters{3, 5, 7, 15};  // scale, shift, mean, variance
  channel_map const map = batch_norm{.epsilon = 1}.at_inference(parameters);
  EXPECT_DOUBLE_EQ(map.factor, 3.0 / 4);
  EXPECT_DOUBLE_EQ(map.offset, 5 - 7 * 3.0 / 4);
  EXPECT_EQ((scale{.factor = 2}.at_inference({})).factor, 2);
  std::vector<double> const learned{9};
  EXPECT_EQ((scale{.factor = 2, .learned = true}.at_inference(learned)).factor, 9);
}

/// If the outputs of all layers are kept, no layer is folded.
TEST(folding, preserves_predictions) {
  each_case([](char const* name, graph const& net, std::string const&) {
    SCOPED_TRACE(name);
    expect_equal_outputs<B>(net, 1e-12);
    expect_equal_outputs<reference<float>>(net, 1e-5);
  });
}

TEST(folding, merges_a_layer_with_its_only_consumer_if_the_layer_supports_it) {
  each_case([](char const* name, graph const& net, std::string const& steps) {
    EXPECT_EQ(steps_of(*trial<B>(net, {.batch = 2, .training = false}).plan), steps) << name;
  });
}

TEST(folding, happens_only_at_inference) {
  each_case([](char const* name, graph const& net, std::string const&) {
    if (graph_view(net).with_role(layer_role::loss).empty()) return;
    for (plan_row const& row : trial<B>(net, {.batch = 2}).plan->rows())
      EXPECT_EQ(row.step.find(" + "), std::string::npos) << name << ": " << row.step;
  });
}

TEST(folding, keeps_layers_whose_outputs_are_requested) {
  graph const net = convolution_and_norm();  // input 0, conv2d 1, batch_norm 2, relu 3, …
  auto const steps = [&](std::vector<int> const& outputs) {
    return steps_of(*trial<B>(net, {.batch = 2, .training = false, .outputs = outputs}).plan);
  };
  EXPECT_EQ(steps({1}), "conv2d_1; ");
  EXPECT_EQ(steps({1, 2}), "conv2d_1; batch_norm_1; ");
  EXPECT_EQ(steps({2}), "conv2d_1 + batch_norm_1; ");
  EXPECT_EQ(steps({2, 3}), "conv2d_1 + batch_norm_1; relu_1; ");
}

TEST(folding, updates_folded_weights_when_parameters_change) {
  each_case([](char const* name, graph const& net, std::string const&) {
    SCOPED_TRACE(name);
    trial<B> one(net, {.batch = 2, .training = false});
    one.forward();
    std::vector<double> const before = one.output();
    for (int p = 0; p < one.parameters(); ++p) {
      auto values = one.dense(p, one.store->master());
      for (double& value : values) value = 1.25 * value + 0.125;
      one.store->write(p, reinterpret_cast<std::byte const*>(values.data()), one.store->master());
    }
    one.store->mark_changed();
    one.store->refresh_stale();
    one.forward();
    EXPECT_NE(one.output(), before);
    trial<B> apart(net, {.batch = 2, .training = false, .outputs = every_layer(net)}, 1, one.store);
    apart.forward();
    expect_near(one.output(), last_output(apart), 1e-11);
  });
}

TEST(folding, shares_working_copies_between_plans_of_different_batch_sizes) {
  graph const net = convolution_and_norm();
  trial<B> one(net, {.batch = 2, .training = false});
  std::size_t const bytes = one.store->copy_bytes();
  EXPECT_GE(bytes, (4 * 2 * 9 + 4) * sizeof(double));
  trial<B> const two(net, {.batch = 5, .training = false}, 1, one.store);
  EXPECT_EQ(one.store->copy_bytes(), bytes);
}

/// A user-defined kind is folded like a built-in one.
struct doubled {
  static constexpr std::string_view kind_name = "doubled";
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  channel_map at_inference(std::span<double const>) const { return {2, 0}; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.output[i] = 2 * a.inputs[0][i];
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.diff_inputs[0][i] = 2 * a.diff_output[i];
  }
};

TEST(folding, accepts_user_defined_kinds) {
  graph const net =
      graph::build([](builder& b) { return b.input({5}) | dense{.units = 3} | doubled{} | batch_norm{}; });
  EXPECT_EQ(steps_of(*trial<B>(net, {.batch = 2, .training = false}).plan),
            "dense_1 + doubled_1 + batch_norm_1; ");
  expect_equal_outputs<B>(net, 1e-12);
}

}  // namespace folding_test
