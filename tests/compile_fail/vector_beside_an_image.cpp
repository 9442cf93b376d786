// SPDX-License-Identifier: Apache-2.0
// expect: a vector is not broadcast over more axes: reshape it to {C, 1, 1} for one value per channel
// expect: vector_beside_an_image.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.input({8, 6, 6});
#ifdef MUST_FAIL
#line 4711
  tensor const gate = x | global_avg_pool{} | dense{.units = 8} | sigmoid{};
#else
  tensor const gate = x | global_avg_pool{} | dense{.units = 8} | sigmoid{} | reshape{.extents = {8, 1, 1}};
#endif
  return x * gate;
}>();
