// SPDX-License-Identifier: Apache-2.0
// expect: required
// expect: "kernel"
// expect: field_without_its_value.cpp:4711
// max-lines: 16
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({1, 8, 8})
#ifdef MUST_FAIL
#line 4711
         | conv2d{.filters = 20};
#else
         | conv2d{.filters = 20, .kernel = 3};
#endif
}>();
