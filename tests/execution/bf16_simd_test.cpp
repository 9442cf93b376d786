// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cohort/execution/detail/bf16_simd.hpp>
#include <cohort/random/stream.hpp>
#include <utility>
#include <vector>

namespace bf16_simd_test {

using namespace cohort;

std::vector<isa> all_sets() {
  std::vector<isa> sets{isa::baseline};
  for (isa const one : {isa::avx2, isa::avx512})
    if (one <= machine_isa()) sets.push_back(one);
  return sets;
}

/// A sample of all f32 patterns that contains every case that rounding distinguishes.
std::vector<float> numbers(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto pattern = detail::philox(i, 0, 1)[0];
    if (i % 4 == 1) pattern = (pattern & 0xffff0000U) | 0x8000U;  // halfway
    if (i % 64 == 3) pattern = 0x7f7fffffU | (pattern & 0x80000000U);
    if (i % 64 == 5) pattern = 0x7f800000U | (pattern & 0x80000000U);
    x[i] = std::bit_cast<float>(pattern);
  }
  return x;
}

TEST(bf16_simd, rounds_like_scalar_code_on_every_instruction_set) {
  for (std::size_t const n : {0, 1, 15, 16, 17, 1000, 4099}) {
    std::vector<float> const w = numbers(n), none(n, -0.0F);
    for (isa const which : all_sets()) {
      std::vector<float> rest = w, wide(n);
      std::vector<bf16> q(n + 1, bf16{7});
      detail::round_to_bf16(which, rest.data(), none.data(), q.data(), n);
      detail::widen(which, q.data(), wide.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        bf16 const nearest = bf16::nearest(w[i]);
        ASSERT_EQ(q[i], nearest) << i << ' ' << w[i];
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(nearest.value()));
        float const left = w[i] - nearest.value();
        if (left == left) {
          ASSERT_EQ(rest[i], left) << i;
        }
      }
      EXPECT_EQ(q[n], bf16{7});
    }
  }
}

TEST(bf16_simd, adds_the_stored_rounding_error_before_rounding) {
  std::vector<float> const kept{0.25F, 1e-3F, -1.0F};
  std::vector<float> w{1.0F, 1.0F, 1.0F};
  std::vector<bf16> q(3);
  detail::round_to_bf16(best_isa(), w.data(), kept.data(), q.data(), 3);
  EXPECT_EQ(q[0].value(), 1.25F);
  EXPECT_EQ(q[1].value(), 1.0F);
  EXPECT_EQ(w[1], (1.0F + 1e-3F) - 1.0F);
  EXPECT_EQ(q[2].value(), 0.0F);
}

TEST(bf16_simd, finds_non_finite_numbers_at_any_position) {
  for (isa const which : all_sets())
    for (std::size_t const n : {1, 16, 33, 100}) {
      std::vector<bf16> q(n, bf16::nearest(-3.3e38F));
      ASSERT_TRUE(detail::all_finite(which, q.data(), n));
      for (std::size_t i = 0; i < n; ++i)
        for (std::uint16_t const bad : {0x7f80, 0xff80, 0x7fc0, 0xffff}) {
          bf16 const before = std::exchange(q[i], bf16{bad});
          ASSERT_FALSE(detail::all_finite(which, q.data(), n)) << i;
          q[i] = before;
        }
    }
}

}  // namespace bf16_simd_test
