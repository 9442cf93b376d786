// SPDX-License-Identifier: Apache-2.0
// expect: label smoothing must be in [0, 1)
// expect: label_smoothing_of_all.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({4}) | dense{.units = 3}
#ifdef MUST_FAIL
#line 4711
         | softmax_cross_entropy{.label_smoothing = 1};
#else
         | softmax_cross_entropy{.label_smoothing = 0.1};
#endif
}>();
