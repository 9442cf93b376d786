// SPDX-License-Identifier: Apache-2.0
// expect: only an lstm has cells
// expect: cells_of_a_gru.cpp
// expect: 4711
#include <cohort/graph/network.hpp>
#include <cohort/graph/with_state.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  auto const encoder = with_state(gru{.units = 8}, b.input({7, 3}));
#ifdef MUST_FAIL
#line 4711
  return encoder.cells()
#else
  return encoder.state()
#endif
         | dense{.units = 4} | softmax_cross_entropy{};
}>();
