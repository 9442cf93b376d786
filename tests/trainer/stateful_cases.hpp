// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/random/stream.hpp>
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

}  // namespace stateful_cases
