// SPDX-License-Identifier: Apache-2.0
// expect: a mask begins at this layer, but it does not read an input of the network
// expect: mask_behind_another_layer.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({4})
#ifdef MUST_FAIL
#line 4711
         | relu{} | embedding{.vocabulary = 9, .width = 2, .mask_zero = true}
#else
         | embedding{.vocabulary = 9, .width = 2, .mask_zero = true}
#endif
         | global_max_pool{} | dense{.units = 2} | softmax_cross_entropy{};
}>();
