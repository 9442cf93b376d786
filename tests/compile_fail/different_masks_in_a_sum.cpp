// SPDX-License-Identifier: Apache-2.0
// expect: the inputs of this layer have different masks
// expect: different_masks_in_a_sum.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.masked_input({12, 3});
  tensor const y = b.masked_input({12, 3}) | tanh_activation{};
#ifdef MUST_FAIL
#line 4711
  return join(add{}, x, y)
#else
  return join(add{}, x | global_max_pool{}, y | global_max_pool{})
#endif
         | dense{.units = 2} | softmax_cross_entropy{};
}>();
