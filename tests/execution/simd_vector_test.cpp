// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/execution/isa.hpp>
#include <cohort/optimizer/update_simd.hpp>
#include <vector>

namespace simd_vector_test {

using cohort::isa;

// AdaGrad with h₀ = 0, rate 1 and w = 0 makes the step g / (|g| + ε). This step tests √(g²) and the division
// on each instruction set, for most exponents of a float.
TEST(simd_vector, computes_roots_and_quotients_to_a_few_units_in_the_last_place) {
  std::size_t const n = 1600;
  cohort::optimizer_rule const rule = cohort::adagrad{.learning_rate = 1, .epsilon = 1e-30, .initial = 0};
  std::vector<float> g(n);
  for (std::size_t i = 0; i < n; ++i)
    g[i] = static_cast<float>((i % 2 ? -1 : 1) * std::pow(10.0, static_cast<double>(i) / n * 34 - 17));
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
    if (which > cohort::machine_isa()) continue;
    std::vector<float> w(n), h(n);
    float const* const parts[] = {g.data()};
    float* const states[] = {h.data()};
    cohort::apply_update(which, rule, {}, w.data(), parts, 1, states, n);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double const square = h[i];
      ASSERT_NEAR(square / (double(g[i]) * g[i]), 1, 0x1p-24) << g[i];
      double const expected = -double(g[i]) / (std::sqrt(square) + 1e-30);
      largest = std::max(largest, std::abs(w[i] / expected - 1));
    }
    EXPECT_LE(largest, 3 * 0x1p-24) << name_of(which);  // root, sum and quotient round
  }
}

TEST(simd_vector, does_not_change_weights_with_zero_gradients) {
  cohort::optimizer_rule const rule = cohort::adagrad{.learning_rate = 1, .epsilon = 1e-30, .initial = 0};
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
    if (which > cohort::machine_isa()) continue;
    std::vector<float> w(16), g(16), h(16);
    float const* const parts[] = {g.data()};
    float* const states[] = {h.data()};
    cohort::apply_update(which, rule, {}, w.data(), parts, 1, states, 16);
    EXPECT_EQ(w, std::vector<float>(16));
    EXPECT_EQ(h, std::vector<float>(16));
  }
}

}  // namespace simd_vector_test
