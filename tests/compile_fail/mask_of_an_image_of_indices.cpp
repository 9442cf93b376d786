// SPDX-License-Identifier: Apache-2.0
// expect: mask_zero needs a sequence of indices, T
// expect: mask_of_an_image_of_indices.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({4, 4})
#ifdef MUST_FAIL
#line 4711
         | embedding{.vocabulary = 9, .width = 2, .mask_zero = true}
#else
         | embedding{.vocabulary = 9, .width = 2}
#endif
         | dense{.units = 2} | softmax_cross_entropy{};
}>();
