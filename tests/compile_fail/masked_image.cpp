// SPDX-License-Identifier: Apache-2.0
// expect: a masked input is a sequence: T or TxC, with T steps
// expect: masked_image.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return
#ifdef MUST_FAIL
#line 4711
      b.masked_input({3, 8, 8})
#else
      b.input({3, 8, 8})
#endif
      | dense{.units = 2} | softmax_cross_entropy{};
}>();
