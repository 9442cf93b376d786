// SPDX-License-Identifier: Apache-2.0
// expect: the kernel is larger than its input
// expect: kernel_larger_than_its_input.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({1, 4, 4}) | relu{}
#ifdef MUST_FAIL
#line 4711
         | conv2d{.filters = 20, .kernel = 5}
#else
         | conv2d{.filters = 20, .kernel = 3}
#endif
         | relu{};
}>();
