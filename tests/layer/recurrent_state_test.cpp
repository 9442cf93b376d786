// SPDX-License-Identifier: Apache-2.0
// covers: layer/recurrent_output
#include <gtest/gtest.h>
#include <cohort/layer/detail/layer_states.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "lone_layer.hpp"
#include "masked_steps.hpp"

namespace recurrent_state_test {

using namespace cohort;
using numbers = std::vector<double>;

constexpr int batch = 3, steps = 10, features = 2, units = 3;

/// PyTorch also computes each case in double. The numbers of the file have 13 digits.
constexpr double tolerance = 1e-11;

void expect_near(numbers const& got, numbers const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << what << ' ' << i;
}

/// Columns [first, first + units) of rows of `columns` numbers.
numbers half(numbers const& rows, std::size_t columns, std::size_t first) {
  numbers found;
  for (auto row = rows.begin(); row != rows.end(); row += static_cast<std::ptrdiff_t>(columns))
    found.insert(found.end(), row + static_cast<std::ptrdiff_t>(first),
                 row + static_cast<std::ptrdiff_t>(first) + units);
  return found;
}

/// Each example's rows of steps, then a row of each state.
numbers packed(numbers const& of_steps, std::vector<numbers> const& states) {
  numbers made;
  for (int n = 0; n < batch; ++n) {
    auto const copy = [&](numbers const& from, int count) {
      made.insert(made.end(), from.begin() + n * count, from.begin() + (n + 1) * count);
    };
    if (!of_steps.empty()) copy(of_steps, steps * units);
    for (numbers const& one : states) copy(one, units);
  }
  return made;
}

template <layer L>
void compare(std::string const& name, L l) {
  SCOPED_TRACE(name);
  golden_case const wanted = read_golden_cases("recurrent_states.txt").at(name);
  bool const both = wanted.contains("parameter reverse.weights");
  std::size_t const columns = both ? 2 * units : units;
  masked_steps const mask(numbers_of(wanted, "mask"), steps);
  numbers diff_input(static_cast<std::size_t>(batch * steps * features));
  l.returns_state = true;
  for (std::string const direction : {"forward", "reverse"}) {
    if (direction == "reverse" && !both) break;
    SCOPED_TRACE(direction);
    std::size_t const first = direction == "reverse" ? units : 0;
    l.reverse = first > 0;
    std::vector<shape> shapes{{steps, features}};
    std::vector<numbers> inputs{numbers_of(wanted, "input")}, final_states, diff_final, parameters;
    std::vector<std::string> states{"h"};
    if (L::max_inputs == 3) states.emplace_back("c");
    for (std::string const& state : states) {
      shapes.emplace_back(units);
      inputs.push_back(numbers_of(wanted, "initial " + direction + '.' + state));
      final_states.push_back(numbers_of(wanted, "final " + direction + '.' + state));
      diff_final.push_back(numbers_of(wanted, "diff_final " + direction + '.' + state));
    }
    parameter_list const list = l.parameters(shapes);
    for (parameter_spec const& spec : list)
      parameters.push_back(numbers_of(wanted, "parameter " + direction + '.' + std::string(spec.name)));
    lone_layer<> whole(l, batch, shapes, inputs, parameters);
    if (!mask.all()) whole.mask = &mask.mask;
    auto const blank_masked = [&](numbers rows) {
      for (std::size_t n = 0, i = 0; n < batch; ++n)
        for (std::size_t row = 0; row < steps + states.size(); ++row)
          for (int u = 0; u < units; ++u, ++i)
            if (row < steps && mask.steps[n * steps + row] == 0) rows[i] = 0;
      return rows;
    };
    numbers const out = whole.forward();
    expect_near(blank_masked(out),
                blank_masked(packed(half(numbers_of(wanted, "output"), columns, first), final_states)),
                "output");
    auto const& more =
        whole.differentiate(packed(half(numbers_of(wanted, "diff_output"), columns, first), diff_final));
    std::transform(more.begin(), more.end(), diff_input.begin(), diff_input.begin(), std::plus<>());
    for (std::size_t i = 0; i < states.size(); ++i)
      expect_near(whole.diff_inputs[i + 1], numbers_of(wanted, "diff_initial " + direction + '.' + states[i]),
                  "diff_initial " + states[i]);
    for (int p = 0; p < list.count; ++p) {
      auto const at = static_cast<std::size_t>(p);
      std::string const parameter = direction + '.' + std::string(list.specs[at].name);
      expect_near(whole.diff_parameters[at], numbers_of(wanted, "gradient " + parameter), parameter);
    }
    expect_near(whole.forward(false), out, "inference");

    L last = l;
    last.last_step = true;
    lone_layer<> end(last, batch, shapes, inputs, parameters);
    end.mask = whole.mask;
    expect_near(end.forward(), packed({}, final_states), "last");
  }
  expect_near(diff_input, numbers_of(wanted, "diff_input"), "diff_input");
}

TEST(recurrent_state, initial_and_final_states_agree_with_pytorch) {
  for (std::string const suffix : {"", "_masked"}) {
    compare("simple_rnn" + suffix, simple_rnn{.units = units});
    compare("lstm" + suffix, lstm{.units = units});
    compare("gru" + suffix, gru{.units = units});
  }
  for (std::string const suffix : {"", "_gaps"}) {
    compare("lstm_peepholes" + suffix, lstm{.units = units, .peepholes = true});
    compare("gru_before" + suffix, gru{.units = units, .reset_after = false});
  }
}

TEST(recurrent_state, has_the_expected_number_of_golden_cases) {
  EXPECT_EQ(read_golden_cases("recurrent_states.txt").size(), 10U);
}

/// A layer with one unit on two series of two steps. All steps of the second series are masked.
template <layer L>
lone_layer<> with_an_empty_series(L l, masked_steps const& mask, numbers h, numbers c) {
  l.returns_state = true;
  std::vector<shape> shapes{{2, 1}, {1}};
  std::vector<numbers> inputs{{1, 2, 3, 4}, std::move(h)}, parameters;
  if (L::max_inputs == 3) {
    shapes.emplace_back(1);
    inputs.push_back(std::move(c));
  }
  for (parameter_spec const& spec : l.parameters(shapes))
    parameters.emplace_back(static_cast<std::size_t>(spec.dims.elements()), 0.5);
  lone_layer<> made(l, 2, shapes, inputs, parameters);
  made.mask = &mask.mask;
  return made;
}

TEST(recurrent_state, a_fully_masked_sequence_returns_its_initial_state) {
  masked_steps const mask({1, 1, 0, 0}, 2);
  auto whole = with_an_empty_series(lstm{.units = 1}, mask, {0.25, -0.5}, {0.75, 2});
  numbers out = whole.forward();
  EXPECT_EQ(numbers(out.begin() + 4, out.end()), (numbers{0, 0, -0.5, 2}));
  whole.differentiate({1, 1, 1, 1, 0, 0, 3, 4});
  EXPECT_EQ(whole.diff_inputs[1][1], 3);
  EXPECT_EQ(whole.diff_inputs[2][1], 4);
  EXPECT_EQ(whole.diff_inputs[0][2], 0);

  auto last = with_an_empty_series(lstm{.units = 1, .last_step = true}, mask, {0.25, -0.5}, {0.75, 2});
  out = last.forward();
  EXPECT_EQ(numbers(out.begin() + 2, out.end()), (numbers{-0.5, 2}));
  last.differentiate({1, 1, 3, 4});
  EXPECT_EQ(last.diff_inputs[1][1], 3);
  EXPECT_EQ(last.diff_inputs[2][1], 4);
}

TEST(recurrent_state, a_fully_masked_sequence_outputs_its_initial_state) {
  masked_steps const mask({1, 1, 0, 0}, 2);
  lone_layer<> end(gru{.units = 1, .last_step = true}, 2, {{2, 1}, {1}}, {{1, 2, 3, 4}, {0.25, -0.5}},
                   {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  end.mask = &mask.mask;
  EXPECT_EQ(end.forward()[1], -0.5);
  end.differentiate({1, 3});
  EXPECT_EQ(end.diff_inputs[1][1], 3);
}

/// Steps [first, first + count) of the examples of `all`, whose steps have `width` values.
numbers crop(numbers const& all, int first, int count, int width) {
  numbers part;
  for (int n = 0; n < batch; ++n) {
    auto const from = all.begin() + (n * steps + first) * width;
    part.insert(part.end(), from, from + count * width);
  }
  return part;
}

template <layer L>
void expect_crops_continue(L l, numbers const& mask_of_all) {
  l.stateful = true;
  auto draw = [drawn = 0](std::size_t count) mutable {
    numbers made(count);
    for (double& x : made) x = std::sin(1 + 7 * ++drawn);
    return made;
  };
  numbers const x = draw(static_cast<std::size_t>(batch * steps * features));
  shape const sequence{steps, features};
  std::vector<numbers> parameters;
  for (parameter_spec const& spec : l.parameters({&sequence, 1}))
    parameters.push_back(draw(static_cast<std::size_t>(spec.dims.elements())));
  masked_steps const mask(mask_of_all, steps);
  lone_layer<> whole(l, batch, {sequence}, {x}, parameters);
  whole.mask = &mask.mask;
  numbers const wanted = whole.forward();

  detail::layer_states states({{.id = 1, .numbers = 5}, {.id = 3, .numbers = (L::max_inputs - 1) * units}},
                              batch + 2, sizeof(double));
  int first = 0;
  for (int const count : {4, 1, 5}) {
    masked_steps const part(crop(mask_of_all, first, count, 1), count);
    lone_layer<> now(l, batch, {{count, features}}, {crop(x, first, count, features)}, parameters);
    now.mask = &part.mask;
    now.scalars.states = &states;
    now.scalars.first_row = 2;
    now.forward();
    numbers got = now.forward(), expected = crop(wanted, first, count, units);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (part.steps[i / units] == 0) got[i] = expected[i];
    EXPECT_EQ(got, expected) << "from step " << first;
    states.advance();
    first += count;
  }
}

TEST(recurrent_state, crops_of_a_stateful_layer_continue_the_sequence) {
  numbers const all(batch * steps, 1),
      gaps{0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0};
  for (numbers const& mask : {all, gaps}) {
    expect_crops_continue(simple_rnn{.units = units}, mask);
    expect_crops_continue(lstm{.units = units}, mask);
    expect_crops_continue(lstm{.units = units, .peepholes = true}, mask);
    expect_crops_continue(gru{.units = units}, mask);
    expect_crops_continue(gru{.units = units, .reset_after = false}, mask);
  }
}

TEST(recurrent_state, clears_the_states_of_a_row_or_of_all_rows) {
  detail::layer_states states({{.id = 7, .numbers = 2}, {.id = 8, .numbers = 1}}, 2, sizeof(float));
  auto const at = [&](std::uint64_t id) { return reinterpret_cast<float const*>(states.before(id)); };
  for (std::uint64_t const id : {7, 8})
    for (int i = 0; i < (id == 7 ? 4 : 2); ++i) reinterpret_cast<float*>(states.after(id))[i] = 5;
  EXPECT_EQ(at(7)[3], 0);
  states.advance();
  states.clear(1);
  EXPECT_EQ(std::vector<float>(at(7), at(7) + 4), (std::vector<float>{5, 5, 0, 0}));
  EXPECT_EQ(std::vector<float>(at(8), at(8) + 2), (std::vector<float>{5, 0}));
  states.clear();
  EXPECT_EQ(at(7)[0], 0);
  EXPECT_EQ(at(9), nullptr);
}

TEST(recurrent_state, refuses_invalid_initial_states_and_combinations_of_settings) {
  EXPECT_EQ(refusal_of(lstm{.units = 3}, shape{4, 2}, shape{3}),
            "the initial state of an lstm must be two tensors: its state h and its cells c");
  EXPECT_EQ(refusal_of(lstm{.units = 3}, shape{4, 2}, shape{3}, shape{4}),
            "the initial state of a recurrent layer must have one element for each unit");
  EXPECT_EQ(refusal_of(gru{.units = 3}, shape{4, 2}, shape{1, 3}),
            "the initial state of a recurrent layer must have one element for each unit");
  constexpr char const* resets =
      "a layer with resets_masked cannot read an initial state, return its state or be stateful";
  EXPECT_EQ(refusal_of(gru{.units = 3, .resets_masked = true}, shape{4, 2}, shape{3}), resets);
  EXPECT_EQ(refusal_of(gru{.units = 3, .resets_masked = true, .returns_state = true}, shape{4, 2}), resets);
  EXPECT_EQ(refusal_of(gru{.units = 3, .resets_masked = true, .stateful = true}, shape{4, 2}), resets);
  EXPECT_EQ(refusal_of(gru{.units = 3, .stateful = true}, shape{4, 2}, shape{3}),
            "a stateful layer carries its state from batch to batch: it cannot read an initial state");
  EXPECT_EQ(refusal_of(lstm{.units = 3, .reverse = true, .stateful = true}, shape{4, 2}),
            "a stateful layer cannot run in reverse: it carries its state from batch to batch");
}

TEST(recurrent_state, parts_have_the_shapes_of_steps_and_states) {
  using enum recurrent_part;
  EXPECT_EQ(shape_of(recurrent_output{.states = 2, .part = recurrent_part::steps}, shape{6, 3}),
            (shape{4, 3}));
  EXPECT_EQ(shape_of(recurrent_output{.states = 2, .part = cells}, shape{6, 3}), shape{3});
  EXPECT_EQ(refusal_of(recurrent_output{.states = 2, .part = recurrent_part::steps}, shape{2, 3}),
            "a recurrent layer with last_step has no outputs of other steps");
  EXPECT_EQ(refusal_of(recurrent_output{.states = 1, .part = cells}, shape{2, 3}), "only an lstm has cells");
  EXPECT_EQ(refusal_of(recurrent_output{.states = 3, .part = state}, shape{4, 3}),
            "a state has one or two tensors: h, and c of an lstm");
  EXPECT_EQ(refusal_of(recurrent_output{.states = 2, .part = state}, shape{4}),
            "a member of with_state must read a recurrent layer that returns its state");
}

}  // namespace recurrent_state_test
