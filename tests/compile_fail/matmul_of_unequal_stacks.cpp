// SPDX-License-Identifier: Apache-2.0
// expect: the extents before the matrices must be equal or 1, compared from the last one
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const left = b.input({4, 5, 8});
#ifdef MUST_FAIL
  tensor const right = b.input({2, 8, 5});
#line 4711
  tensor const product = join(matmul{}, left, right);
#else
  tensor const right = b.input({1, 8, 5});
  tensor const product = join(matmul{}, left, right);
#endif
  return product | relu{};
}>();
