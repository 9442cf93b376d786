// SPDX-License-Identifier: Apache-2.0
// expect: a masked input T contains indices, for an embedding: values need the shape TxC
// expect: masked_numbers_without_channels.cpp
// expect: 4711
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  return b.masked_input({12})
#ifdef MUST_FAIL
#line 4711
         | relu{}
#else
         | embedding{.vocabulary = 9, .width = 2}
#endif
         | global_max_pool{} | dense{.units = 2} | softmax_cross_entropy{};
}>();
