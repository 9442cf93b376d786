// SPDX-License-Identifier: Apache-2.0
// expect: an extent of the output is more than 2^30
// expect-gcc: an extent of the output is more than 2^30 (input 1x262136x8, factor 16385x1)
#include <cohort/graph/network.hpp>

constexpr auto net = cohort::network<[](cohort::builder& b) {
#ifdef MUST_FAIL
  return b.input({1, 262136, 8}) | cohort::upsampling{.factor = {16385, 1}};
#else
  return b.input({1, 262136, 8}) | cohort::upsampling{.factor = {4, 1}};
#endif
}>();
