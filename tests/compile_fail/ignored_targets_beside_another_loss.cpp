// SPDX-License-Identifier: Apache-2.0
// expect: a loss with an ignore_index is a mean over the targets not ignored, so it must be the only loss
// expect: ignored_targets_beside_another_loss.cpp
// expect: 4711
#include <array>
#include <cohort/graph/network.hpp>

using namespace cohort;

constexpr auto net = network<[](builder& b) {
  tensor const x = b.input({12, 3}) | dense{.units = 5};
  return std::array{x | mean_squared_error{},
#ifdef MUST_FAIL
#line 4711
                    x | softmax_cross_entropy{.ignore_index = -1}
#else
                    x | softmax_cross_entropy{.sum_steps = true, .ignore_index = -1}
#endif
  };
}>();
