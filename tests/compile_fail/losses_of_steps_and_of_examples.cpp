// SPDX-License-Identifier: Apache-2.0
// expect: all losses must be means over the same steps, or all over examples: set sum_steps
// expect: losses_of_steps_and_of_examples.cpp
// expect: 4711
#include <array>
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.masked_input({12, 3});
  return std::array{x | global_max_pool{} | mean_squared_error{},
#ifdef MUST_FAIL
#line 4711
                    x | mean_squared_error{}
#else
                    x | mean_squared_error{.sum_steps = true}
#endif
  };
}>();
