// SPDX-License-Identifier: Apache-2.0
// expect: this layer reads a loss: a loss must be the last layer of its branch
// expect: layer_behind_a_loss.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
#ifdef MUST_FAIL
  return b.input({4}) | dense{.units = 3} | binary_cross_entropy{}
#line 4711
         | dense{.units = 2};
#else
  return b.input({4}) | dense{.units = 3} | dense{.units = 2} | binary_cross_entropy{};
#endif
}>();
