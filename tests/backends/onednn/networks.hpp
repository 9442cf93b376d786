// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/network.hpp>

namespace onednn_test {

using namespace cohort;

inline graph lenet() {
  return graph::build([](builder& net) {
    return net.input({1, 28, 28}) | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
           | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
           | dense{.units = 200} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
  });
}
/// Odd numbers of channels everywhere: padded wherever oneDNN uses blocks.
inline graph odd() {
  return graph::build([](builder& net) {
    return net.input({3, 9, 9}) | conv2d{.filters = 19, .kernel = 3} | relu{}
           | conv2d{.filters = 37, .kernel = 3, .padding = 1} | max_pool{.window = 2}
           | conv2d{.filters = 21, .kernel = 2} | leaky_relu{} | dense{.units = 7} | softmax_cross_entropy{};
  });
}

}  // namespace onednn_test
