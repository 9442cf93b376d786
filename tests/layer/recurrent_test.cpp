// SPDX-License-Identifier: Apache-2.0
// covers: layer/gru layer/lstm layer/recurrent_activation layer/simple_rnn
#include <gtest/gtest.h>
#include <cohort/layer/gru.hpp>
#include <cohort/layer/lstm.hpp>
#include <cohort/layer/simple_rnn.hpp>

#include <algorithm>
#include <cmath>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "lone_layer.hpp"
#include "masked_steps.hpp"

namespace recurrent_test {

using namespace cohort;
using enum recurrent_activation;

constexpr int batch = 3, steps = 10, features = 2, units = 3;

/// PyTorch also computes each case in double. The numbers of the file have 13 digits.
constexpr double tolerance = 1e-11;

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << what << ' ' << i;
}

/// Returns half `which` of the numbers of each row of `columns` numbers. If a row has only the numbers of one
/// direction, returns all numbers.
std::vector<double> half(std::vector<double> const& rows, std::size_t columns, std::size_t which) {
  if (columns == units) return rows;
  std::vector<double> found;
  for (std::size_t first = which * units; first < rows.size(); first += columns)
    found.insert(found.end(), rows.begin() + static_cast<std::ptrdiff_t>(first),
                 rows.begin() + static_cast<std::ptrdiff_t>(first) + units);
  return found;
}

/// Compares a layer with the case of the file that has the layer's name, in each direction of the case.
/// Compares outputs at unmasked steps, the last states and all gradients.
template <layer L>
void compare(std::string const& name, L l) {
  SCOPED_TRACE(name);
  golden_case const wanted = read_golden_cases("recurrent.txt").at(name);
  bool const both = wanted.contains("parameter reverse.weights");
  std::size_t const columns = both ? 2 * units : units;
  masked_steps const mask(numbers_of(wanted, "mask"), steps);
  std::vector<double> diff_input(static_cast<std::size_t>(batch * steps * features));
  for (std::string const direction : {"forward", "reverse"}) {
    if (direction == "reverse" && !both) break;
    SCOPED_TRACE(direction);
    std::size_t const which = direction == "reverse" ? 1 : 0;
    l.reverse = which == 1;
    shape const sequence{steps, features};
    std::vector<std::vector<double>> parameters;
    parameter_list const list = l.parameters({&sequence, 1});
    for (parameter_spec const& spec : list)
      parameters.push_back(numbers_of(wanted, "parameter " + direction + '.' + std::string(spec.name)));
    lone_layer<> whole(l, batch, {sequence}, {numbers_of(wanted, "input")}, parameters);
    if (!mask.all()) whole.mask = &mask.mask;
    auto out = whole.forward();
    auto expected = half(numbers_of(wanted, "output"), columns, which);
    auto const diff = half(numbers_of(wanted, "diff_output"), columns, which);
    ASSERT_EQ(out.size(), expected.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      if (mask.steps[i / units] == 0) out[i] = expected[i] = 0;
    expect_near(out, expected, "output");
    auto const& more = whole.differentiate(diff);
    std::transform(more.begin(), more.end(), diff_input.begin(), diff_input.begin(), std::plus<>());
    for (int p = 0; p < list.count; ++p) {
      auto const at = static_cast<std::size_t>(p);
      std::string const parameter = direction + '.' + std::string(list.specs[at].name);
      expect_near(whole.diff_parameters[at], numbers_of(wanted, "gradient " + parameter), parameter);
    }
    expect_near(whole.forward(false), whole.output, "inference");

    L last = l;
    last.last_step = true;
    lone_layer<> end(last, batch, {sequence}, {numbers_of(wanted, "input")}, parameters);
    end.mask = whole.mask;
    expect_near(end.forward(), half(numbers_of(wanted, "last"), columns, which), "last");
  }
  expect_near(diff_input, numbers_of(wanted, "diff_input"), "diff_input");
}

TEST(recurrent, cells_agree_with_pytorch) {
  for (std::string const suffix : {"", "_masked", "_bidirectional", "_masked_bidirectional"}) {
    compare("simple_rnn" + suffix, simple_rnn{.units = units});
    compare("lstm" + suffix, lstm{.units = units});
    compare("gru" + suffix, gru{.units = units});
  }
}

TEST(recurrent, variants_of_cells_agree_with_pytorch) {
  compare("simple_rnn_relu", simple_rnn{.units = units, .activation = relu, .bias = false});
  compare("simple_rnn_identity", simple_rnn{.units = units, .activation = identity});
  compare("lstm_no_bias", lstm{.units = units, .bias = false});
  compare("lstm_hard", lstm{.units = units, .activation = hard_tanh, .gate_activation = hard_sigmoid});
  compare("lstm_peepholes", lstm{.units = units, .peepholes = true});
  compare("gru_before", gru{.units = units, .reset_after = false});
}

TEST(recurrent, a_masked_step_in_the_middle_keeps_the_state) {
  compare("simple_rnn_gaps", simple_rnn{.units = units});
  compare("lstm_peepholes_gaps", lstm{.units = units, .peepholes = true});
  compare("gru_gaps", gru{.units = units});
  compare("gru_before_gaps",
          gru{.units = units, .reset_after = false, .activation = relu, .gate_activation = hard_sigmoid});
}

TEST(recurrent, a_masked_step_resets_the_state_if_resets_masked_is_set) {
  compare("simple_rnn_resets", simple_rnn{.units = units, .activation = sigmoid, .resets_masked = true});
  compare("lstm_resets", lstm{.units = units, .resets_masked = true});
  compare("lstm_peepholes_resets", lstm{.units = units, .peepholes = true, .resets_masked = true});
  compare("gru_resets", gru{.units = units, .resets_masked = true});
  compare("gru_before_resets", gru{.units = units, .reset_after = false, .resets_masked = true});
}

/// Compares the gradients of inputs and parameters with difference quotients of the sum of output ·
/// diff_output. The sum includes masked steps.
template <layer L>
void compare_with_differences(L l) {
  masked_steps const mask({1, 0, 0, 1, 1, 0, 1, 1, 0, 0,  //
                           1, 1, 1, 0, 1, 0, 0, 0, 1, 1,  //
                           0, 0, 1, 1, 0, 1, 1, 1, 1, 1},
                          steps);
  auto const drawn = [](std::uint64_t purpose, std::int64_t count) {
    random_stream const numbers(5, purpose);
    std::vector<double> made;
    for (std::int64_t i = 0; i < count; ++i)
      made.push_back(numbers.normal<double>(static_cast<std::uint64_t>(i)));
    return made;
  };
  shape const sequence{steps, features};
  for (bool const reverse : {false, true}) {
    SCOPED_TRACE(reverse);
    l.reverse = reverse;
    std::vector<std::vector<double>> parameters;
    for (parameter_spec const& spec : l.parameters({&sequence, 1}))
      parameters.push_back(drawn(10 + parameters.size(), spec.dims.elements()));
    lone_layer<> whole(l, batch, {sequence}, {drawn(0, batch * steps * features)}, parameters);
    whole.mask = &mask.mask;
    whole.scalars = {.seed = 3, .step = 7};
    std::vector<double> const diff = drawn(1, static_cast<std::int64_t>(whole.forward().size()));
    auto const sum = [&] {
      std::vector<double> const& out = whole.forward();
      return std::inner_product(out.begin(), out.end(), diff.begin(), 0.0);
    };
    auto const compare_each = [&](std::vector<double>& numbers, std::vector<double> const& gradient) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        double const before = numbers[i], distance = 1e-5;
        numbers[i] = before + distance;
        double const above = sum();
        numbers[i] = before - distance;
        double const below = sum();
        numbers[i] = before;
        EXPECT_NEAR(gradient[i], (above - below) / (2 * distance), 1e-7 * (1 + std::abs(gradient[i]))) << i;
      }
    };
    whole.forward();
    whole.differentiate(diff);
    auto const diff_inputs = whole.diff_inputs, diff_parameters = whole.diff_parameters;
    compare_each(whole.inputs[0], diff_inputs[0]);
    for (std::size_t p = 0; p < diff_parameters.size(); ++p) {
      SCOPED_TRACE(p);
      compare_each(whole.parameters[p], diff_parameters[p]);
    }
  }
}

TEST(recurrent, gradients_of_masked_sequences_agree_with_finite_differences) {
  for (bool const resets : {false, true}) {
    SCOPED_TRACE(resets);
    compare_with_differences(simple_rnn{.units = units, .resets_masked = resets});
    compare_with_differences(lstm{.units = units, .peepholes = true, .resets_masked = resets});
    compare_with_differences(gru{.units = units, .resets_masked = resets});
    compare_with_differences(gru{.units = units, .reset_after = false, .resets_masked = resets});
  }
}

TEST(recurrent, gradients_with_dropout_agree_with_finite_differences) {
  compare_with_differences(simple_rnn{.units = units, .dropout = 0.3, .recurrent_dropout = 0.4});
  compare_with_differences(lstm{.units = units, .dropout = 0.3, .recurrent_dropout = 0.4});
  compare_with_differences(gru{.units = units, .dropout = 0.3, .recurrent_dropout = 0.4});
  compare_with_differences(
      gru{.units = units, .reset_after = false, .dropout = 0.3, .recurrent_dropout = 0.4});
}

TEST(recurrent, gradients_of_returned_states_agree_with_finite_differences) {
  for (bool const last : {false, true}) {
    SCOPED_TRACE(last);
    compare_with_differences(simple_rnn{.units = units, .last_step = last, .returns_state = true});
    compare_with_differences(lstm{.units = units, .last_step = last, .returns_state = true});
    compare_with_differences(gru{.units = units, .last_step = last, .returns_state = true});
    compare_with_differences(
        gru{.units = units, .last_step = last, .reset_after = false, .returns_state = true});
  }
}

}  // namespace recurrent_test
