// SPDX-License-Identifier: Apache-2.0
// expect: a matmul needs matrices: reshape a vector to {1, K} or {K, 1}
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const matrix = b.input({5, 8});
  tensor const vector = b.input({8});
#ifdef MUST_FAIL
#line 4711
  return join(matmul{}, matrix, vector);
#else
  return join(matmul{}, matrix, vector | reshape{.extents = {8, 1}});
#endif
}>();
