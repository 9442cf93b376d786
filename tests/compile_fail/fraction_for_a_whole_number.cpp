// SPDX-License-Identifier: Apache-2.0
// expect: "units"
// expect: fraction_for_a_whole_number.cpp:4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({8})
#ifdef MUST_FAIL
#line 4711
         | dense{.units = 2.5};
#else
         | dense{.units = 2};
#endif
}>();
