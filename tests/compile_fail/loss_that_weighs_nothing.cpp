// SPDX-License-Identifier: Apache-2.0
// expect: the weight of a loss must be a finite number above 0
// expect: loss_that_weighs_nothing.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({4}) | dense{.units = 2}
#ifdef MUST_FAIL
#line 4711
         | mean_squared_error{.weight = 0};
#else
         | mean_squared_error{.weight = 0.5};
#endif
}>();
