// SPDX-License-Identifier: Apache-2.0
// expect: the axes of layer normalisation must be from 1 to the rank of its input
// expect: more_axes_than_the_input_has.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({6, 8}) | relu{}
#ifdef MUST_FAIL
#line 4711
         | layer_norm{.axes = 3}
#else
         | layer_norm{.axes = 2}
#endif
         | relu{};
}>();
