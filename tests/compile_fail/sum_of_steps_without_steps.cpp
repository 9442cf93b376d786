// SPDX-License-Identifier: Apache-2.0
// expect: sum_steps needs the steps of a sequence: an input TxC, with T steps
// expect: sum_of_steps_without_steps.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({12}) | dense{.units = 2}
#ifdef MUST_FAIL
#line 4711
         | softmax_cross_entropy{.sum_steps = true};
#else
         | softmax_cross_entropy{};
#endif
}>();
