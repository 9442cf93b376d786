// SPDX-License-Identifier: Apache-2.0
// expect: tensors cannot be multiplied: from the last axis on, their extents must be equal or 1
// expect: product_of_different_shapes.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.input({12});
  tensor const left = x | dense{.units = 20} | sigmoid{};
#ifdef MUST_FAIL
#line 4711
  tensor const right = x | dense{.units = 10};
#else
  tensor const right = x | dense{.units = 20};
#endif
  return left * right;
}>();
