// SPDX-License-Identifier: Apache-2.0
// expect: a network begins with an input
// expect: network_without_an_input.cpp:4711
// max-lines: 16
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
#ifdef MUST_FAIL
  static_cast<void>(b);
#line 4711
  return dense{.units = 3} | softmax_cross_entropy{};
#else
  return b.input({8}) | dense{.units = 3} | softmax_cross_entropy{};
#endif
}>();
