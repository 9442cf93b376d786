// SPDX-License-Identifier: Apache-2.0
// expect: extent2
// expect: fraction_for_a_stride.cpp:4711
// max-lines: 16
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({1, 8, 8})
#ifdef MUST_FAIL
#line 4711
         | conv2d{.filters = 4, .kernel = 3, .stride = 1.5};
#else
         | conv2d{.filters = 4, .kernel = 3, .stride = 1};
#endif
}>();
