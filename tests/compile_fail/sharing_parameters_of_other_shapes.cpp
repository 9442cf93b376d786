// SPDX-License-Identifier: Apache-2.0
// expect: layers that share parameters need parameters of the same shapes
// expect: sharing_parameters_of_other_shapes.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({8}) | dense{.units = 8, .name = "hidden"} | relu{}
#ifdef MUST_FAIL
#line 4711
         | dense{.units = 10, .settings = {.shares = "hidden"}};
#else
         | dense{.units = 8, .settings = {.shares = "hidden"}};
#endif
}>();
