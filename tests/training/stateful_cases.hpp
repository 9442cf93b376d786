// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/data/continued_crops.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <vector>

/// Networks and series for tests of states that are carried from call to call, or from batch to batch.
namespace stateful_cases {

using namespace cohort;

/// Several recurrent layers, and layers that compute each step separately.
inline graph forecaster(int steps, bool masked = false, bool stateful = false) {
  return graph::build([=](builder& b) {
    tensor const x = masked ? b.masked_input({steps, 2}) : b.input({steps, 2});
    tensor const y = x | dense{.units = 5} | tanh_activation{} | dropout{.rate = 0.3}
                     | lstm{.units = 6, .peepholes = true, .stateful = stateful} | layer_norm{};
    tensor const z = (y | gru{.units = 6, .stateful = stateful}) + y;
    return concat(z | simple_rnn{.units = 3, .stateful = stateful},
                  z | gru{.units = 4, .reset_after = false, .stateful = stateful})
           | rms_norm{} | dense{.units = 2} | mean_squared_error{};
  });
}

/// Rows of two numbers.
inline std::vector<float> drawn_rows(int rows, char const* purpose) {
  random_stream const numbers(5, purpose);
  std::vector<float> made;
  for (std::uint64_t i = 0; i < 2 * static_cast<std::uint64_t>(rows); ++i)
    made.push_back(numbers.normal<float>(i));
  return made;
}

/// Steps [first, first + count) of series of `steps` steps with `width` numbers.
template <class T>
std::vector<T> steps_of(std::vector<T> const& all, int steps, int width, int first, int count) {
  std::vector<T> part;
  int const series = static_cast<int>(all.size()) / (steps * width);
  for (int n = 0; n < series; ++n) {
    auto const from = all.begin() + (n * steps + first) * width;
    part.insert(part.end(), from, from + count * width);
  }
  return part;
}

/// Largest difference between the outputs of whole sequences and of parts of them.
template <class B>
double difference(bool masked) {
  constexpr int series = 5, steps = 11;
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
  training run = trainer<B>(net, {.optimizer = {sgd{.learning_rate = 1e-30}}, .seed = 4, .workers = 2});
  return run
      .fit(continued_crops(
               token_crops(token_stream(tokens), {.length = length, .vocabulary = 5, .fixed = true}), 3),
           {.batch = 3, .shuffle = false})
      .loss;
}

}  // namespace stateful_cases
