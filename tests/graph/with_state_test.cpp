// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/graph/network.hpp>
#include <cohort/graph/with_state.hpp>

#include <string>
#include <utility>

namespace with_state_test {

using namespace cohort;

constexpr auto translator = network<[](builder& b) {
  auto const encoder = with_state(lstm{.units = 8, .last_step = true}, b.masked_input({7, 3}));
  return join(lstm{.units = 8}, b.input({5, 2}), encoder.state(), encoder.cells()) | dense{.units = 4}
         | softmax_cross_entropy{};
}>();
static_assert(translator.view().size() == 8);
static_assert(translator.view()[3].output == shape{8});  // state
static_assert(translator.parameter_count() == 4 * 8 * (3 + 8 + 1) + 4 * 8 * (2 + 8 + 1) + 9 * 4);

TEST(with_state, masks_steps_but_not_states) {
  graph const net = graph::build([](builder& b) {
    auto const made = with_state(gru{.units = 4}, b.masked_input({6, 3}));
    return std::pair{made.steps() | tanh_activation{}, made.state() | relu{}};
  });
  graph_view const v = net.view();
  EXPECT_EQ(v[v.find("gru_1")].output, (shape{7, 4}));
  EXPECT_EQ(v[v.find("recurrent_output_1")].output, (shape{6, 4}));
  EXPECT_EQ(v[v.find("tanh_1")].mask, 0);
  EXPECT_EQ(v[v.find("recurrent_output_2")].output, shape{4});
  EXPECT_EQ(v[v.find("relu_1")].mask, -1);
}

TEST(with_state, refuses_layers_that_read_masked_steps_and_the_state_together) {
  builder b;
  tensor const x = b.masked_input({6, 3}) | gru{.units = 4, .returns_state = true};
  x | dense{.units = 2};
  EXPECT_STREQ(b.problem().sentence,
               "this layer reads the steps and the state together: use the members of with_state");
}

TEST(with_state, reports_outputs_that_the_layer_does_not_have) {
  builder b;
  auto const last = with_state(gru{.units = 4, .last_step = true}, b.input({6, 3}));
  last.steps();
  EXPECT_STREQ(b.problem().sentence, "a recurrent layer with last_step has no outputs of other steps");
  builder c;
  auto const whole = with_state(simple_rnn{.units = 4}, c.input({6, 3}));
  whole.cells();
  EXPECT_STREQ(c.problem().sentence, "only an lstm has cells");
}

}  // namespace with_state_test
