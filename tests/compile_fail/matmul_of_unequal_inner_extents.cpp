// SPDX-License-Identifier: Apache-2.0
// expect: the left matrices must have as many columns as the right ones have rows
// expect: matmul_of_unequal_inner_extents.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const queries = b.input({5, 8}), keys = b.input({7, 8});
#ifdef MUST_FAIL
#line 4711
  return join(matmul{}, queries, keys);
#else
  return join(matmul{.transpose_b = true}, queries, keys);
#endif
}>();
