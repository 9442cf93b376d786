// SPDX-License-Identifier: Apache-2.0
// expect: tensors cannot be added: from the last axis on, their extents must be equal or 1
// expect: sum_of_different_shapes.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.input({1, 8, 8});
  tensor const left = x | conv2d{.filters = 20, .kernel = 5};
#ifdef MUST_FAIL
#line 4711
  tensor const right = x | conv2d{.filters = 20, .kernel = 3};
#else
  tensor const right = x | conv2d{.filters = 20, .kernel = 5};
#endif
  return (left + right) | relu{};
}>();
