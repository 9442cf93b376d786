// SPDX-License-Identifier: Apache-2.0
// expect: a convolution of a masked sequence must keep its steps: stride 1 and padding::same
// expect: stride_of_a_masked_sequence.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.masked_input({12, 3})
#ifdef MUST_FAIL
#line 4711
         | conv1d{.filters = 4, .kernel = 3, .stride = 2, .padding = padding::same}
#else
         | conv1d{.filters = 4, .kernel = 3, .padding = padding::same}
#endif
         | global_max_pool{} | dense{.units = 2} | softmax_cross_entropy{};
}>();
