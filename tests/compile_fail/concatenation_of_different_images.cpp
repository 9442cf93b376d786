// SPDX-License-Identifier: Apache-2.0
// expect: concatenated tensors may differ in their channels only
// expect: concatenation_of_different_images.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.input({3, 8, 8});
#ifdef MUST_FAIL
#line 4711
  tensor const pooled = x | max_pool{.window = 2};
#else
  tensor const pooled = x | max_pool{.window = 3, .stride = 1, .padding = 1};
#endif
  return concat(x, pooled) | relu{};
}>();
