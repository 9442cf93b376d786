// SPDX-License-Identifier: Apache-2.0
// expect: softmax needs one logit per class: put a dense layer before it
// expect: softmax_of_an_image.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.input({1, 8, 8}) | conv2d{.filters = 10, .kernel = 3}
#ifdef MUST_FAIL
#line 4711
         | softmax_cross_entropy{};
#else
         | dense{.units = 10} | softmax_cross_entropy{};
#endif
}>();
