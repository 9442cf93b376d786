// SPDX-License-Identifier: Apache-2.0
// expect: the last of a subset must not exceed the channels of its input
// expect: subset_beyond_its_input.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({12})
#ifdef MUST_FAIL
#line 4711
         | subset{.first = 6, .last = 13}
#else
         | subset{.first = 6, .last = 12}
#endif
         | embedding{.vocabulary = 10, .width = 4};
}>();
