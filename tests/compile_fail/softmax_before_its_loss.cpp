// SPDX-License-Identifier: Apache-2.0
// expect: this loss contains the activation of the layer before it: remove that layer
// expect-gcc: of the layer before it: remove that layer (softmax 3 from line 12)
// expect: softmax_before_its_loss.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
#ifdef MUST_FAIL
  return b.input({4}) | dense{.units = 3} | softmax{}
#line 4711
         | softmax_cross_entropy{};
#else
  return b.input({4}) | dense{.units = 3} | softmax_cross_entropy{};
#endif
}>();
