// SPDX-License-Identifier: Apache-2.0
// expect: the function of a network must return its output
// expect: network_that_returns_nothing.cpp
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
#ifdef MUST_FAIL
  b.input({8}) | dense{.units = 3} | softmax_cross_entropy{};
#else
  return b.input({8}) | dense{.units = 3} | softmax_cross_entropy{};
#endif
}>();
