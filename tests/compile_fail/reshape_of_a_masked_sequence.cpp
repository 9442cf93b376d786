// SPDX-License-Identifier: Apache-2.0
// expect: this layer does not accept a masked sequence
// expect: reshape_of_a_masked_sequence.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.masked_input({12, 3})
#ifdef MUST_FAIL
#line 4711
         | reshape{.extents = {36}}
#else
         | flatten{}
#endif
         | dense{.units = 2} | softmax_cross_entropy{};
}>();
