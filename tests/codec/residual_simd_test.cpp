// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/codec/residual_simd.hpp>
#include <limits>
#include <vector>

#include "gradients.hpp"

namespace residual_simd_test {

using namespace cohort;

TEST(residual_simd, detects_any_element_out_of_range) {
  float const infinity = std::numeric_limits<float>::infinity();
  for (isa const which : usable_isas())
    for (std::size_t const n : {1, 15, 16, 33, 70}) {
      std::vector<float> x(n, -largest_gradient);
      EXPECT_TRUE(within_range(which, x));
      for (std::size_t i = 0; i < n; ++i)
        for (float const bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                                std::nextafter(largest_gradient, infinity)}) {
          x[i] = bad;
          EXPECT_FALSE(within_range(which, x)) << name_of(which) << " n " << n << " at " << i;
          x[i] = 0;
        }
    }
  EXPECT_TRUE(within_range(isa::baseline, {}));
}

TEST(residual_simd, clips_and_returns_the_clipped_mass) {
  for (isa const which : usable_isas())
    for (std::size_t const n : {1UL, 17UL, 5000UL}) {
      std::vector<float> r = gradient(n, n);
      std::vector<float> const before = r;
      double const mass = clip_residual(which, r, 0.5F);
      double expected = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(r[i], std::fmin(std::fmax(before[i], -0.5F), 0.5F));
        expected += std::fabs(double{before[i]} - double{r[i]});
      }
      EXPECT_NEAR(mass, expected, 1e-5 * expected);
    }
}

TEST(residual_simd, scales_and_sums_squares) {
  for (isa const which : usable_isas())
    for (std::size_t const n : {0UL, 1UL, 17UL, 5000UL}) {
      std::vector<float> r = gradient(n, n);
      std::vector<float> const before = r;
      scale_residual(which, r, 0.75F);
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(r[i], before[i] * 0.75F);
        sum += double{r[i]} * double{r[i]};
      }
      EXPECT_NEAR(residual_square_sum(which, r), sum, 1e-12 * sum);
    }
}

}  // namespace residual_simd_test
