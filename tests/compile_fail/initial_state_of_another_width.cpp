// SPDX-License-Identifier: Apache-2.0
// expect: the initial state of a recurrent layer must have one element for each unit
// expect: initial_state_of_another_width.cpp
// expect: 4711
#include <cohort/graph/network.hpp>
#include <cohort/graph/with_state.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  auto const encoder = with_state(lstm{.units = 8, .last_step = true}, b.input({7, 3}));
  tensor const target = b.input({5, 2}), h = encoder.state(), c = encoder.cells();
#ifdef MUST_FAIL
#line 4711
  return join(lstm{.units = 9}, target, h, c)
#else
  return join(lstm{.units = 8}, target, h, c)
#endif
         | dense{.units = 4} | softmax_cross_entropy{};
}>();
