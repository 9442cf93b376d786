// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/data/continued_crops.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/trainer/stateful_predictions.hpp>
#include <cohort/trainer/trainer.hpp>

#include <cohort/onednn.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../../trainer/stateful_cases.hpp"

namespace recurrent_states_test {

using namespace cohort;
using namespace stateful_cases;

constexpr int series = 5, steps = 11;

/// Largest difference between the outputs of whole sequences and of parts of them.
template <class B>
double difference(bool masked) {
  training const model = trainer<B>(forecaster(steps, masked), {.seed = 3});
  std::vector<float> const x = drawn_rows(series * steps, "x");
  predictions const whole = model.predict(tensor_view{x.data(), {series, steps, 2}});
  stateful_predictions stream(model, series);
  double worst = 0;
  int first = 0;
  for (int const count : {1, 6, 1, 3}) {
    std::vector<float> const part = steps_of(x, steps, 2, first, count);
    predictions const made = stream.advance(tensor_view{part.data(), {series, count, 2}});
    std::vector<float> const wanted = steps_of(whole.values, steps, 2, first, count);
    EXPECT_EQ(made.values.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      worst = std::max(worst, static_cast<double>(std::abs(made.values[i] - wanted[i])));
    first += count;
  }
  return worst;
}

/// Outputs are of size 1. Products with another number of rows may sum in another order.
TEST(recurrent_states, parts_of_sequences_continue_to_rounding) {
  EXPECT_LE(difference<onednn>(false), 1e-5);
  EXPECT_LE(difference<onednn>(true), 1e-5);
}

/// Rounding of elements to 8 bits, where a sum's order changes one of them.
TEST(recurrent_states, parts_of_sequences_continue_to_rounding_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  EXPECT_LE(difference<onednn_bf16>(false), 0.05);
}

/// Mean loss of an epoch on three rows of crops, with a rate so small that no parameter changes.
template <class B>
double loss(int length, bool stateful) {
  graph const net = graph::build([=](builder& b) {
    return b.input({length}) | embedding{.vocabulary = 5, .width = 7}
           | lstm{.units = 17, .stateful = stateful} | gru{.units = 9, .stateful = stateful}
           | dense{.units = 5} | softmax_cross_entropy{};
  });
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < 3 * 12 + 1; ++i) tokens.push_back(i * i % 5);
  training run = trainer<B>(net, {.updater = sgd{.rate = 1e-30}, .seed = 4, .workers = 2});
  return run
      .fit(continued_crops(
               token_crops(token_stream(tokens), {.length = length, .vocabulary = 5, .fixed = true}), 3),
           {.batch = 3, .shuffle = false})
      .loss;
}

TEST(recurrent_states, crops_have_the_loss_of_the_whole_sequences) {
  double const whole = loss<onednn>(12, false);
  for (int const length : {1, 4, 6}) EXPECT_NEAR(loss<onednn>(length, true), whole, 1e-5) << length;
  EXPECT_GT(std::abs(loss<onednn>(4, false) - whole), 1e-3);
}

}  // namespace recurrent_states_test
