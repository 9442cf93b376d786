// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/detail/attention_simd.hpp>
#include <cohort/tensor/buffer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "lone_layer.hpp"
#include "masked_steps.hpp"

namespace attention_test {

using namespace cohort;

constexpr int batch = 2, queries = 5, keys = 7, heads = 3, width = 4, values = 6;
constexpr double tolerance = 1e-11;  // the numbers of the file have 13 digits

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << what << ' ' << i;
}

/// Compares a layer with the case of the file that has its name: outputs and gradients.
void compare(std::string const& name, attention const& l) {
  SCOPED_TRACE(name);
  golden_case const wanted = read_golden_cases("attention.txt").at(name);
  bool const packed = !wanted.contains("input1");
  int const steps = packed || l.causal ? queries : keys;
  std::vector<shape> shapes{{queries, heads * width}, {steps, heads * width}, {steps, heads * values}};
  if (packed) shapes = {{queries, 3 * heads * width}};
  std::vector<std::vector<double>> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    inputs.push_back(numbers_of(wanted, "input" + std::to_string(i)));
  lone_layer<> made(l, batch, shapes, inputs);
  masked_steps const mask(numbers_of(wanted, "mask"), steps);
  if (!mask.all()) made.mask = &mask.mask;
  expect_near(made.forward(), numbers_of(wanted, "output"), "output");
  made.differentiate(numbers_of(wanted, "diff_output"));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    expect_near(made.diff_inputs[i], numbers_of(wanted, "diff_input" + std::to_string(i)), "diff_input");
  expect_near(made.forward(false), made.output, "inference");
}

TEST(attention, agrees_with_pytorch) {
  compare("self", {.heads = heads});
  compare("causal", {.heads = heads, .causal = true});
  compare("cross", {.heads = heads});
  compare("cross_causal", {.heads = heads, .causal = true});
  compare("rotary", {.heads = heads, .rotary = 10000});
  compare("cross_rotary", {.heads = heads, .rotary = 100});
  compare("masked", {.heads = heads});
  compare("masked_causal", {.heads = heads, .causal = true});
  compare("cross_masked", {.heads = heads});
  compare("cross_masked_causal", {.heads = heads, .causal = true, .rotary = 100});
}

/// Outputs and gradients of all heads by the passes of an instruction set.
std::vector<float> passed(isa which, attention const& l, std::vector<shape> const& shapes,
                          std::vector<std::vector<float>> const& inputs,
                          std::vector<float> const& diff_output, step_mask const* mask) {
  detail::attention_sizes const s = l.sizes(shapes);
  detail::attention_passes const passes = detail::attention_passes_of(which);
  reusable_buffer scratch;
  scratch.resize(detail::attention_scratch(s, true) * sizeof(float));
  std::vector<float> output(diff_output.size(), 7.0F),
      workspace(static_cast<std::size_t>(batch * s.heads * s.queries));
  std::vector<std::vector<float>> diffs(inputs.size());
  detail::attention_call a{.output = output.data(),
                           .workspace = workspace.data(),
                           .mask = mask,
                           .diff_output = diff_output.data()};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    diffs[i].assign(inputs[i].size(), 7.0F);
    a.inputs[i] = inputs[i].data();
    a.diff_inputs[i] = diffs[i].data();
  }
  auto* const memory = reinterpret_cast<float*>(scratch.data());
  for (auto const& pass : {passes.forward, passes.backward})
    for (int n = 0; n < batch; ++n)
      for (int h = 0; h < s.heads; ++h) pass(s, a, n, h, memory);
  for (auto const& one : diffs) output.insert(output.end(), one.begin(), one.end());
  return output;
}

TEST(attention, agrees_with_double_precision_on_every_instruction_set) {
  struct variant {
    attention layer;
    int length;
    int columns;
    bool cross;
    bool masked;
  };
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (variant const& v :
       {variant{{.heads = 2}, 1, 6, false, false}, variant{{.heads = 2}, 100, 66, false, false},
        variant{{.heads = 1, .causal = true}, 130, 64, false, true},
        variant{{.heads = 3, .causal = true, .rotary = 100}, 49, 18, false, false},
        variant{{.heads = 2, .rotary = 100}, 33, 40, true, false},
        variant{{.heads = 2}, 61, 12, true, true}}) {
    int const k = v.columns, length = v.length;
    std::vector<shape> shapes{{length, 3 * k}};
    if (v.cross) shapes = {{length, k}, {length + 20, k}, {length + 20, k + 2}};
    std::vector<std::vector<float>> inputs;
    std::vector<std::vector<double>> wide;
    auto const drawn = [&](shape const& dims) {
      std::vector<float> made(static_cast<std::size_t>(dims.batched(batch).elements()));
      for (float& one : made) one = normal(random);
      return made;
    };
    for (shape const& dims : shapes) inputs.push_back(drawn(dims));
    for (auto const& one : inputs) wide.emplace_back(one.begin(), one.end());
    std::vector<double> exists(static_cast<std::size_t>(batch * shapes.back()[0]), 1);
    if (v.masked) exists[0] = exists[1] = exists[70] = exists[exists.size() - 1] = 0;
    masked_steps const mask(exists, shapes.back()[0]);
    step_mask const* const given = v.masked ? &mask.mask : nullptr;

    lone_layer<> exact(v.layer, batch, shapes, wide);
    exact.mask = given;
    std::vector<double> expected = exact.forward();
    std::vector<float> diff = drawn(exact.output_shape);
    if (v.masked && !v.cross)
      for (std::size_t i = 0; i < diff.size(); ++i)
        if (exists[i / static_cast<std::size_t>(exact.output_shape[1])] == 0) diff[i] = 0;
    exact.differentiate({diff.begin(), diff.end()});
    for (auto const& one : exact.diff_inputs) expected.insert(expected.end(), one.begin(), one.end());
    for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
      if (which > machine_isa()) continue;
      SCOPED_TRACE(std::string(name_of(which)) + ", length " + std::to_string(length));
      std::vector<float> const got = passed(which, v.layer, shapes, inputs, diff, given);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], 2e-5 * std::max(1.0, std::abs(expected[i]))) << i;
    }
  }
}

TEST(attention, of_two_sequences_reads_only_unmasked_keys) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // Equal scores: the output is the mean of the unmasked values; example 1 has none.
  masked_steps const mask({1, 0, 1, 0, 0, 0}, 3);
  lone_layer<> made(
      attention{.heads = 1}, 2, {{1, 1}, {3, 1}, {3, 2}},
      {{1, 1}, {0, nan, 0, nan, nan, nan}, {2, 8, nan, nan, 4, 6, nan, nan, nan, nan, nan, nan}});
  made.mask = &mask.mask;
  EXPECT_EQ(made.forward(), (std::vector<double>{3, 7, 0, 0}));
  made.differentiate({1, 2, 1, 2});
  EXPECT_EQ(made.diff_inputs[0], (std::vector<double>{0, 0}));
  EXPECT_EQ(made.diff_inputs[1], (std::vector<double>{0.5, 0, -0.5, 0, 0, 0}));
  EXPECT_EQ(made.diff_inputs[2], (std::vector<double>{0.5, 1, 0, 0, 0.5, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(attention, of_large_scores_is_finite) {
  lone_layer<float> made(attention{.heads = 1}, 1, {{2, 3}}, {{200, 200, 1, -200, 200, 2}});
  EXPECT_EQ(made.forward(), (std::vector<float>{1.5F, 1.5F}));
}

TEST(attention, writes_zero_where_every_key_is_masked) {
  masked_steps const mask({0, 0}, 2);
  lone_layer<> made(attention{.heads = 1}, 1, {{2, 3}}, {{1, 2, 3, 4, 5, 6}});
  made.mask = &mask.mask;
  EXPECT_EQ(made.forward(), (std::vector<double>{0, 0}));
  EXPECT_EQ(made.differentiate({1, 1}), (std::vector<double>(6, 0)));
}

TEST(attention, ignores_masked_steps_and_writes_zero_gradients_for_them) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  masked_steps const mask({1, 1, 0}, 3);
  lone_layer<> made(attention{.heads = 1}, 1, {{3, 3}}, {{1, 2, 3, 4, 5, 6, 0, nan, nan}});
  made.mask = &mask.mask;
  std::vector<double> const out = made.forward();
  EXPECT_TRUE(std::isfinite(out[0]) && std::isfinite(out[1]));
  made.differentiate({1, 1, 0});
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isfinite(made.diff_inputs[0][i]));
  for (std::size_t i = 6; i < 9; ++i) EXPECT_EQ(made.diff_inputs[0][i], 0);
}

TEST(attention, infers_the_shape_of_the_output) {
  EXPECT_EQ(shape_of(attention{.heads = 2}, shape(5, 12)), shape(5, 4));
  EXPECT_EQ(shape_of(attention{.heads = 2}, shape(5, 4), shape(7, 4), shape(7, 6)), shape(5, 6));
}

TEST(attention, refuses_inputs_that_do_not_fit) {
  EXPECT_EQ(refusal_of(attention{.heads = 1}, shape(5, 3), shape(5, 3)),
            "attention needs one input (queries, keys and values side by side) or three");
  EXPECT_EQ(refusal_of(attention{.heads = 1}, shape(5)),
            "attention needs sequences: inputs of steps x columns");
  EXPECT_EQ(refusal_of(attention{.heads = 0}, shape(5, 3)), "attention needs at least one head");
  EXPECT_EQ(refusal_of(attention{.heads = 1, .rotary = -1}, shape(5, 3)),
            "the base of rotary positions must be at least 0");
  EXPECT_EQ(refusal_of(attention{.heads = 1}, shape(5, 4)),
            "the columns of attention's input must be queries, keys and values of equal width");
  EXPECT_EQ(refusal_of(attention{.heads = 1}, shape(5, 3), shape(5, 4), shape(5, 4)),
            "queries and keys must have equally many columns");
  EXPECT_EQ(refusal_of(attention{.heads = 1}, shape(5, 3), shape(6, 3), shape(5, 4)),
            "keys and values must have equally many steps");
  EXPECT_EQ(refusal_of(attention{.heads = 1, .causal = true}, shape(5, 3), shape(6, 3), shape(6, 4)),
            "causal attention needs as many queries as keys");
  EXPECT_EQ(refusal_of(attention{.heads = 2}, shape(5, 4), shape(5, 4), shape(5, 3)),
            "the columns of queries and values must be multiples of the number of heads");
  EXPECT_EQ(refusal_of(attention{.heads = 2, .rotary = 10}, shape(5, 6), shape(5, 6), shape(5, 4)),
            "rotary positions need an even number of columns for each head");
}

}  // namespace attention_test
