// SPDX-License-Identifier: Apache-2.0
// Recurrent and attention layers on the simulated GPU, beyond the rungs of the conformance ladder.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/data/sequences.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/detail/layer_states.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "../../plan/trial.hpp"
#include "../../training/parameters_of.hpp"
#include "../../training/stateful_cases.hpp"
#include "pretended_cudnn.hpp"

namespace recurrent_on_gpu_test {

using namespace cohort;
using namespace stateful_cases;
using cohort_test::parameters_of;

class recurrent_on_gpu : public testing::Test {
 protected:
  recurrent_on_gpu() { pretended_cudnn::machine = &machine; }
  fake_machine machine;
};

TEST_F(recurrent_on_gpu, computes_a_sequence_in_parts_like_the_whole) {
  EXPECT_LE(difference<pretended_cudnn>(false), 1e-5);
  EXPECT_LE(difference<pretended_cudnn>(true), 1e-5);
}

TEST_F(recurrent_on_gpu, crops_have_the_loss_of_the_whole_sequences) {
  double const whole = loss<reference<float>>(12, false);
  for (int const length : {1, 4, 12}) EXPECT_NEAR(loss<pretended_cudnn>(length, true), whole, 1e-5) << length;
  EXPECT_GT(std::abs(loss<pretended_cudnn>(4, false) - whole), 1e-3);
}

/// A classifier of masked sequences: a recurrent layer in each direction, attention, and dropout of each
/// kind.
graph classifier() {
  return graph::build([](builder& b) {
    tensor const x = b.masked_input({7, 2}) | dense{.units = 8} | learned_positions{};
    tensor const y = concat(x | lstm{.units = 4, .dropout = 0.1, .recurrent_dropout = 0.2},
                            x | gru{.units = 4, .reverse = true});
    tensor const z = y + (y | layer_norm{} | dense{.units = 24} | attention{.heads = 2, .rotary = 50});
    return concat(z | global_avg_pool{}, z | global_max_pool{}) | dense{.units = 3} | softmax_cross_entropy{};
  });
}

template <class B>
std::vector<float> trained(int accumulate = 1) {
  std::vector<int> lengths;
  std::vector<std::int32_t> labels;
  int rows = 0;
  for (int n = 0; n < 24; ++n) {
    lengths.push_back(1 + n % 7);
    rows += lengths.back();
    labels.push_back(n % 3);
  }
  std::vector<float> const x = drawn_rows(rows, "x");
  sequences const data({.values = series_of(tensor_view{x.data(), {rows, 2}}, lengths)},
                       {.values = tensor_view{labels.data(), {24}}, .classes = 3}, {.length = 7});
  training run = trainer<B>(classifier(), {.optimizer = {adam{.learning_rate = 1e-2}}, .seed = 2});
  for (int epoch = 0; epoch < 4; ++epoch) run.fit(data, {.batch = 8, .accumulate = accumulate});
  return parameters_of<float>(run);
}

TEST_F(recurrent_on_gpu, trains_like_the_reference) {
  std::vector<float> const got = trained<pretended_cudnn>(), wanted = trained<reference<float>>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-3) << i;
  EXPECT_EQ(trained<pretended_cudnn>(), got);
}

TEST_F(recurrent_on_gpu, trains_split_batches_like_the_reference) {
  std::vector<float> const got = trained<pretended_cudnn>(3), wanted = trained<reference<float>>(3);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-3) << i;
}

TEST_F(recurrent_on_gpu, with_frozen_layers_has_the_gradients_of_the_reference) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.masked_input({7, 2}) | dense{.units = 8} | learned_positions{} | rms_norm{};
    return (x | lstm{.units = 4, .recurrent_dropout = 0.5} | gru{.units = 4, .reset_after = false})
           | global_avg_pool{} | dense{.units = 3} | softmax_cross_entropy{};
  });
  for (std::vector<std::string> const& frozen : {std::vector<std::string>{"lstm_1"},
                                                 {"gru_1"},
                                                 {"learned_positions_1", "rms_norm_1"},
                                                 {"lstm_1", "gru_1"}}) {
    SCOPED_TRACE(frozen[0] + " is frozen");
    trial<pretended_cudnn> got(net, {.batch = 5}, 1, {}, frozen);
    trial<reference<double>> wanted(net, {.batch = 5}, 1, {}, frozen);
    EXPECT_NEAR(got.step(), wanted.step(), 2e-5);
    for (int p = 0; p < wanted.parameters(); ++p) {
      if (wanted.parameter(p).frozen) continue;
      auto const found = got.gradient(p);
      auto const expected = wanted.gradient(p);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 2e-5) << wanted.parameter(p).name << " " << i;
    }
  }
}

/// Numbers at masked steps reach neither the loss nor any gradient, even if they are not finite.
TEST_F(recurrent_on_gpu, ignores_masked_steps) {
  graph const net = graph::build([](builder& b) {
    return b.masked_input({5, 2}) | gru{.units = 3} | lstm{.units = 3, .last_step = true}
           | softmax_cross_entropy{};
  });
  trial<pretended_cudnn> one(net, {.batch = 4});
  double const loss = one.step();
  std::vector<float> const gradients = one.all_gradients();
  std::vector<std::uint8_t> const& mask = one.batch.masks.front();
  ASSERT_NE(std::ranges::count(mask, 0), 0);
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] == 0) one.batch.inputs[0][2 * i] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(one.step(), loss);
  EXPECT_EQ(one.all_gradients(), gradients);
}

TEST_F(recurrent_on_gpu, does_not_reorder_sequences_between_layers) {
  trial<pretended_cudnn> const one(classifier(), {.batch = 4});
  for (plan_row const& row : one.plan->rows()) EXPECT_NE(row.implementation, "reorder") << row.step;
}

/// A pass that was recorded without states would neither read nor write states.
TEST_F(recurrent_on_gpu, carries_states_after_passes_without_states) {
  constexpr int units = 3, batch = 2;
  graph const net = graph::build([](builder& b) {
    return b.input({4, 2}) | lstm{.units = units, .last_step = true, .stateful = true};
  });
  trial<pretended_cudnn> one(net, {.batch = batch, .training = false});
  detail::layer_states states({{detail::purpose_of("layer", "lstm_1"), 2 * units}}, batch, sizeof(float));
  auto const outputs = [&](detail::layer_states* carried) {
    one.run->forward({.inputs = one.batch.input_views, .states = carried});
    return one.output(0);
  };
  std::vector<float> const fresh = outputs(nullptr);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(outputs(nullptr), fresh);
  EXPECT_GT(machine.graph_launches, 0);
  EXPECT_EQ(outputs(&states), fresh) << "all states are zero";
  states.advance();
  EXPECT_NE(outputs(&states), fresh);
}

/// Example weights change the positions of masks and targets in the uploaded block; a recorded pass would
/// read the old addresses.
TEST_F(recurrent_on_gpu, does_not_replay_recorded_passes_after_addresses_have_changed) {
  trial<pretended_cudnn> one(classifier(), {.batch = 4});
  auto const loss = [&](std::span<float const> weights) {
    one.run->forward({.inputs = one.batch.input_views,
                      .targets = one.batch.target_views,
                      .masks = one.batch.mask_views,
                      .weights = weights,
                      .seed = 1});
    return one.run->loss();
  };
  double const wanted = loss({});
  std::vector<float> const ones(4, 1);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(loss({}), wanted);
  EXPECT_GT(machine.graph_launches, 0);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(loss(ones), wanted) << k;
  EXPECT_EQ(loss({}), wanted);
}

}  // namespace recurrent_on_gpu_test
