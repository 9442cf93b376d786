// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/graph/with_state.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/trainer.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "../training/stateful_cases.hpp"

namespace stateful_predictions_test {

using namespace cohort;
using namespace stateful_cases;
using B = reference<float>;

constexpr int series = 3, steps = 9;

TEST(stateful_predictions, are_bitwise_equal_to_a_prediction_of_the_whole_sequence) {
  training const model = trainer<B>(forecaster(steps), {.seed = 3});
  std::vector<float> const x = drawn_rows(series * steps, "x");
  predictions const whole = model.predict(tensor_view{x.data(), {series, steps, 2}});
  stateful_predictions stream(model, series);
  EXPECT_EQ(stream.sequences(), series);
  int first = 0;
  for (int const count : {1, 4, 1, 3}) {
    std::vector<float> const part = steps_of(x, steps, 2, first, count);
    predictions const made = stream.advance(tensor_view{part.data(), {series, count, 2}});
    EXPECT_EQ(made.example, (shape{count, 2}));
    EXPECT_EQ(made.values, steps_of(whole.values, steps, 2, first, count)) << "from step " << first;
    first += count;
  }
}

/// A stream caches a plan per number of steps of a call, at most max_plans.
TEST(stateful_predictions, cache_a_limited_number_of_plans) {
  constexpr int long_steps = 60;
  training const model = trainer<B>(forecaster(long_steps), {.seed = 3});
  std::vector<float> const x = drawn_rows(long_steps, "x");
  predictions const whole = model.predict(tensor_view{x.data(), {1, long_steps, 2}});
  stateful_predictions stream(model);
  EXPECT_EQ(stream.plans(), 0);
  int first = 0, most = 0;
  for (int const count : {1, 2, 3, 4, 5, 6, 7, 8, 1, 9, 1, 2, 1}) {
    std::vector<float> const part = steps_of(x, long_steps, 2, first, count);
    EXPECT_EQ(stream.advance(tensor_view{part.data(), {1, count, 2}}).values,
              steps_of(whole.values, long_steps, 2, first, count))
        << "from step " << first;
    first += count;
    most = std::max(most, count);
    EXPECT_EQ(stream.plans(), std::min(most, stateful_predictions::max_plans)) << count;
  }
}

TEST(stateful_predictions, accept_a_single_step_without_an_axis_of_steps) {
  training const model = trainer<B>(forecaster(steps));
  std::vector<float> const x = drawn_rows(2, "x");
  stateful_predictions stream(model, 2), other(model, 2);
  EXPECT_EQ(stream.advance(tensor_view{x.data(), {2, 2}}).values,
            other.advance(tensor_view{x.data(), {2, 1, 2}}).values);
}

TEST(stateful_predictions, restart_the_sequences_after_reset) {
  training const model = trainer<B>(forecaster(steps));
  std::vector<float> const x = drawn_rows(2, "x");
  tensor_view const step{x.data(), {2, 1, 2}};
  stateful_predictions stream(model, 2);
  predictions const first = stream.advance(step), second = stream.advance(step);
  EXPECT_NE(first.values, second.values);
  stream.reset();
  EXPECT_EQ(stream.advance(step).values, first.values);
  stream.reset(1);
  predictions const mixed = stream.advance(step);
  EXPECT_EQ(std::vector(mixed[0].begin(), mixed[0].end()), std::vector(second[0].begin(), second[0].end()));
  EXPECT_EQ(std::vector(mixed[1].begin(), mixed[1].end()), std::vector(first[1].begin(), first[1].end()));
}

TEST(stateful_predictions, a_masked_step_keeps_the_state) {
  training const model = trainer<B>(forecaster(steps, true), {.seed = 3});
  std::vector<float> const x = drawn_rows(4, "x");
  stateful_predictions stream(model, 1), without(model, 1);
  std::uint8_t const mask[]{1, 0, 1};
  batch_view part;
  part.inputs = {tensor_view{x.data(), {1, 3, 2}}};
  part.masks = {tensor_view{mask, {1, 3}}};
  stream.advance(part);
  without.advance(tensor_view{x.data(), {1, 1, 2}});
  without.advance(tensor_view{x.data() + 4, {1, 1, 2}});
  tensor_view const last{x.data() + 6, {1, 1, 2}};
  EXPECT_EQ(stream.advance(last).values, without.advance(last).values);
}

/// Tests inputs of indices, a layer that returns only its last step, and a second input of features without
/// steps.
TEST(stateful_predictions, support_indices_last_step_layers_and_inputs_without_steps) {
  graph const net = graph::build([](builder& b) {
    tensor const words = b.input({5}), features = b.input({3});
    tensor const read = words | embedding{.vocabulary = 9, .width = 4} | lstm{.units = 6}
                        | lstm{.units = 4, .last_step = true};
    return concat(read, features | dense{.units = 2}) | dense{.units = 3} | softmax_cross_entropy{};
  });
  training const model = trainer<B>(net);
  std::int32_t const words[]{3, 1, 4, 1, 5};
  float const features[]{1, 2, 3};
  tensor_view const beside{features, {1, 3}};
  predictions const whole = model.predict(std::vector<tensor_view>{{words, {1, 5}}, beside});
  stateful_predictions stream(model);
  for (int t = 0; t < 4; ++t) stream.advance(std::vector<tensor_view>{{words + t, {1}}, beside});
  EXPECT_EQ(stream.advance(std::vector<tensor_view>{{words + 4, {1, 1}}, beside}).values, whole.values);
}

TEST(stateful_predictions, use_the_parameters_and_normalisation_of_a_model_file) {
  std::string const path = testing::TempDir() + "stateful_predictions.safetensors";
  training model = trainer<B>(forecaster(steps), {.seed = 8});
  model.normalise({.inputs = {{channel_scaling{2, 1}, channel_scaling{0.5, -1}}},
                   .targets = {{channel_scaling{4, 1}, channel_scaling{3, 0}}}});
  model.save(path);
  training const loaded = load_trained<B>(path);
  std::vector<float> const x = drawn_rows(steps, "x");
  predictions const whole = model.predict(tensor_view{x.data(), {1, steps, 2}});
  stateful_predictions stream(loaded);
  for (int t = 0; t < steps; ++t)
    EXPECT_EQ(stream.advance(tensor_view{x.data() + 2 * t, {1, 2}}).values,
              steps_of(whole.values, steps, 2, t, 1));
}

/// A stream uses the parameters of the model, not a copy.
TEST(stateful_predictions, use_later_changes_of_the_parameters) {
  training model = trainer<B>(forecaster(steps), {.seed = 8});
  training const other = trainer<B>(forecaster(steps), {.seed = 9});
  std::vector<float> const x = drawn_rows(1, "x");
  tensor_view const step{x.data(), {1, 1, 2}};
  stateful_predictions stream(model), wanted(other);
  stream.advance(step);
  model.load_matching(other);
  stream.reset();
  EXPECT_EQ(stream.advance(step).values, wanted.advance(step).values);
}

/// Reason why stateful_predictions refuses a network.
template <class Describe>
std::string refusal(Describe describe) {
  training const model = trainer<B>(graph::build(describe));
  return refusal_of<setting_error>([&] { stateful_predictions{model}; });
}

TEST(stateful_predictions, refuse_layers_that_need_all_steps) {
  auto const text = [](std::string const& layer, std::string const& why) {
    return "this layer cannot continue a sequence step by step (" + layer
           + "): expected recurrent layers that run forward, and layers that process each step separately, "
             "got "
           + why;
  };
  std::string const reads = "a layer that reads several steps, or step indices";
  EXPECT_EQ(refusal([](builder& b) {
              return b.input({4, 6}) | attention{.heads = 2};
            }),
            text("attention_1", reads));
  EXPECT_EQ(refusal([](builder& b) {
              return b.input({4, 6}) | sinusoidal_positions{} | gru{.units = 2};
            }),
            text("sinusoidal_positions_1", reads));
  EXPECT_EQ(refusal([](builder& b) {
              return b.input({4, 6})
                     | conv1d{.filters = 2, .kernel = 3, .padding = padding::same, .name = "smooth"}
                     | gru{.units = 2};
            }),
            text("smooth", reads));
  EXPECT_EQ(refusal([](builder& b) {
              return b.input({4, 6}) | layer_norm{.axes = 2} | gru{.units = 2};
            }),
            text("layer_norm_1", reads));
  EXPECT_EQ(refusal([](builder& b) {
              return b.input({4, 6}) | gru{.units = 2} | flatten{};
            }),
            text("flatten_1", reads));
  EXPECT_EQ(refusal([](builder& b) {
              return b.input({4, 6}) | gru{.units = 2} | global_avg_pool{};
            }),
            text("global_avg_pool_1", reads));
  EXPECT_EQ(refusal([](builder& b) {
              tensor const x = b.input({4, 6});
              return concat(x | lstm{.units = 2}, x | lstm{.units = 2, .reverse = true});
            }),
            text("lstm_2", "a layer that processes the steps in reverse"));
  EXPECT_EQ(refusal([](builder& b) {
              return b.input({4, 6}) | gru{.units = 2, .resets_masked = true};
            }),
            text("gru_1", "a layer that resets its state at masked steps"));
  EXPECT_EQ(refusal([](builder& b) {
              return join(gru{.units = 2}, b.input({4, 6}), b.input({2}));
            }),
            text("gru_1", "a layer with an initial state"));
  EXPECT_EQ(refusal([](builder& b) {
              return with_state(gru{.units = 2}, b.input({4, 6})).steps();
            }),
            text("gru_1", "a layer that returns its state"));
}

TEST(stateful_predictions, refuse_inputs_of_another_shape) {
  training const model = trainer<B>(forecaster(steps, true));
  EXPECT_EQ(refusal_of<setting_error>([&] { stateful_predictions(model, 0); }),
            "the number of sequences of stateful_predictions is not positive: expected at least 1, got 0");
  stateful_predictions stream(model, 2);
  std::vector<float> const x = drawn_rows(8, "x");
  auto const refused = [&](std::vector<tensor_view> inputs, std::vector<tensor_view> masks = {}) {
    batch_view part;
    part.inputs = std::move(inputs);
    part.masks = std::move(masks);
    return refusal_of<shape_error>([&] { stream.advance(part); });
  };
  EXPECT_EQ(refused({}),
            "advance got the wrong number of inputs: expected 1, one for each input of the network, got 0");
  EXPECT_EQ(
      refused({{x.data(), {1, 3, 2}}}),
      "an input of advance has the wrong shape (masked_input_1): expected 2xkx2, with k steps, equal for "
      "all inputs, got 1x3x2");
  EXPECT_EQ(
      refused({{x.data(), {2, 3, 1}}}),
      "an input of advance has the wrong shape (masked_input_1): expected 2xkx2, with k steps, equal for "
      "all inputs, got 2x3x1");
  std::int32_t const words[8]{};
  EXPECT_EQ(refused({{words, {2, 2, 2}}}),
            "an input of advance has the wrong element type (masked_input_1): expected f32, got i32");
  std::uint8_t const mask[8]{};
  EXPECT_EQ(refused({{x.data(), {2, 3, 2}}}, {{mask, {2, 2}}}),
            "a mask of advance has the wrong shape or element type: expected 2x3 x u8, got 2x2 x u8");
  EXPECT_EQ(
      refused({{x.data(), {2, 1, 2}}}, {{mask, {2, 1}}, {mask, {2, 1}}}),
      "advance got the wrong number of masks: expected 1, one for each masked input of the network, got 2");
  EXPECT_EQ(refusal_of<setting_error>([&] { stream.reset(2); }),
            "there is no such sequence (reset): expected a number below 2, got 2");
}

}  // namespace stateful_predictions_test
