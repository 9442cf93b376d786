// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort_test {

using namespace cohort;

inline constexpr auto small = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | relu{} | max_pool{.window = 2}
         | dense{.units = 10} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

/// Images of which one third is bright; the class is the number of that third. Learnable in a few steps.
struct bright_thirds {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;

  explicit bright_thirds(int count, std::uint64_t seed = 1) {
    random_stream const noise(seed, "bright thirds");
    for (int n = 0; n < count; ++n) {
      int const label = static_cast<int>(noise.below(static_cast<std::uint64_t>(n) + 1'000'000, 3));
      labels.push_back(label);
      for (int p = 0; p < 64; ++p)
        pixels.push_back(0.5F * noise.uniform01(static_cast<std::uint64_t>(n * 64 + p))
                         + ((p % 8) * 3 / 8 == label ? 0.5F : 0.0F));
    }
  }
  dataset data() const {
    return arrays(std::span<float const>(pixels), shape{1, 8, 8}, std::span<std::int32_t const>(labels), 3);
  }
};

}  // namespace cohort_test
