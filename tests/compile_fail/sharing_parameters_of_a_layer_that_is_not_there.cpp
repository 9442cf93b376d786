// SPDX-License-Identifier: Apache-2.0
// expect: no earlier layer has the name given in settings.shares
// expect: sharing_parameters_of_a_layer_that_is_not_there.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({8}) | dense{.units = 8, .name = "hidden"} | relu{}
#ifdef MUST_FAIL
#line 4711
         | dense{.units = 8, .settings = {.shares = "hiden"}};
#else
         | dense{.units = 8, .settings = {.shares = "hidden"}};
#endif
}>();
