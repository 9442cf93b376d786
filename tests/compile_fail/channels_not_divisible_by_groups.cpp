// SPDX-License-Identifier: Apache-2.0
// expect: the channels must be divisible by the groups
// expect: channels_not_divisible_by_groups.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({6, 8, 8}) | relu{}
#ifdef MUST_FAIL
#line 4711
         | conv2d{.filters = 8, .kernel = 3, .groups = 4}
#else
         | conv2d{.filters = 8, .kernel = 3, .groups = 2}
#endif
         | relu{};
}>();
