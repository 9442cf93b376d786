// SPDX-License-Identifier: Apache-2.0
// expect: the groups must divide the channels
// expect-gcc: the groups must divide the channels (input 6x4x4, groups 4)
#include <cohort/graph/network.hpp>

constexpr auto net = cohort::network<[](cohort::builder& b) {
#ifdef MUST_FAIL
  return b.input({6, 4, 4}) | cohort::group_norm{.groups = 4};
#else
  return b.input({6, 4, 4}) | cohort::group_norm{.groups = 3};
#endif
}>();
