// SPDX-License-Identifier: Apache-2.0
// expect: a matmul needs two inputs: join(matmul{}, a, b)
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.input({5, 5});
#ifdef MUST_FAIL
#line 4711
  return x | matmul{};
#else
  return join(matmul{}, x, x);
#endif
}>();
