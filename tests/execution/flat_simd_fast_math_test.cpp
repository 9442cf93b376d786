// SPDX-License-Identifier: Apache-2.0
// flags: -ffast-math
// parts: detail error execution io tensor optimizer
// Compiled with -ffast-math, as a consumer may do. The compiler then assumes that NaN and infinity do not
// occur.
#include <gtest/gtest.h>

#include <cohort/execution/flat_simd.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using cohort::isa;

TEST(flat_simd_under_fast_math, is_compiled_with_that_flag) {
#if defined(__FAST_MATH__)
  constexpr bool has_flag = true;
#else
  constexpr bool has_flag = false;
#endif
  EXPECT_TRUE(has_flag) << "compile this file with -ffast-math";
}

TEST(flat_simd_under_fast_math, still_finds_non_finite_numbers) {
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
    if (which > cohort::machine_isa()) continue;
    for (std::uint32_t const pattern : {0x7f800000U, 0xff800000U, 0x7fc00000U, 0x7f800001U}) {
      std::vector<float> x(50, 1.0F);
      EXPECT_TRUE(cohort::all_finite(which, x.data(), x.size()));
      for (std::size_t const at : {std::size_t{3}, std::size_t{49}}) {
        std::vector<float> bad = x;
        std::memcpy(&bad[at], &pattern, sizeof pattern);
        EXPECT_FALSE(cohort::all_finite(which, bad.data(), bad.size())) << name_of(which);
      }
    }
  }
  std::vector<double> y(9, 1.0);
  EXPECT_TRUE(cohort::all_finite(isa::baseline, y.data(), y.size()));
  std::uint64_t const pattern = 0x7ff8000000000000;
  std::memcpy(&y[8], &pattern, sizeof pattern);
  EXPECT_FALSE(cohort::all_finite(isa::baseline, y.data(), y.size()));
  EXPECT_FALSE(cohort::is_finite(y[8]));
}

}  // namespace
