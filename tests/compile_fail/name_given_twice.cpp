// SPDX-License-Identifier: Apache-2.0
// expect: another layer already has this name
// expect: name_given_twice.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({8}) | dense{.units = 10, .name = "hidden"} | relu{}
#ifdef MUST_FAIL
#line 4711
         | dense{.units = 10, .name = "hidden"};
#else
         | dense{.units = 10, .name = "visible"};
#endif
}>();
