// SPDX-License-Identifier: Apache-2.0
// expect: the order must contain each axis once, counted from 0
// expect-gcc: the order must contain each axis once, counted from 0 (axes of 3x4, order 1x2)
#include <cohort/graph/network.hpp>

constexpr auto net = cohort::network<[](cohort::builder& b) {
#ifdef MUST_FAIL
  return b.input({3, 4}) | cohort::permute{.order = {1, 2}};
#else
  return b.input({3, 4}) | cohort::permute{.order = {1, 0}};
#endif
}>();
