// SPDX-License-Identifier: Apache-2.0
// expect: the initial state of an lstm must be two tensors: its state h and its cells c
// expect: lstm_without_initial_cells.cpp
// expect: 4711
#include <cohort/graph/network.hpp>
#include <cohort/graph/with_state.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  auto const encoder = with_state(lstm{.units = 8, .last_step = true}, b.input({7, 3}));
  tensor const target = b.input({5, 2}), h = encoder.state(), c = encoder.cells();
#ifdef MUST_FAIL
#line 4711
  return concat(join(lstm{.units = 8}, target, h) | flatten{}, c)
#else
  return concat(join(lstm{.units = 8}, target, h, c) | flatten{}, c)
#endif
         | dense{.units = 4} | softmax_cross_entropy{};
}>();
