// SPDX-License-Identifier: Apache-2.0
// expect: the delta of a Huber loss must be a finite number above 0
// expect: huber_without_a_delta.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({4}) | dense{.units = 2}
#ifdef MUST_FAIL
#line 4711
         | huber{.delta = 0};
#else
         | huber{.delta = 0.5};
#endif
}>();
