// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <vector>

namespace cohort_test {

using namespace cohort;

/// Targets that are linear in the inputs.
struct planes {
  std::vector<float> x, y;
  explicit planes(int count) {
    random_stream const numbers(3, "planes");
    for (int n = 0; n < count; ++n) {
      float const a = numbers.uniform01(static_cast<std::uint64_t>(2 * n)),
                  b = numbers.uniform01(static_cast<std::uint64_t>(2 * n + 1));
      x.insert(x.end(), {a, b});
      y.insert(y.end(), {2 * a - b, a + 0.5F * b});
    }
  }
  dataset data() const {
    int const count = static_cast<int>(x.size()) / 2;
    return arrays({array_view{.values = {x.data(), {count, 2}}}},
                  {array_view{.name = "y", .values = {y.data(), {count, 2}}}});
  }
};

}  // namespace cohort_test
