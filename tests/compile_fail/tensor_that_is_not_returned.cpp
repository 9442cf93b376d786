// SPDX-License-Identifier: Apache-2.0
// expect: no layer reads this tensor and the network does not return it
// expect: tensor_that_is_not_returned.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.input({8}) | dense{.units = 10} | relu{};
#ifdef MUST_FAIL
#line 4711
  x | dense{.units = 7};
#endif
  return x | dense{.units = 3} | softmax_cross_entropy{};
}>();
#ifdef MUST_FAIL
#else
static_assert(net.view().outputs().size() == 1);
#endif
