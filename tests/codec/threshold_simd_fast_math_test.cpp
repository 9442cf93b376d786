// SPDX-License-Identifier: Apache-2.0
// flags: -ffast-math
// parts: detail error execution tensor codec io optimizer
// The same cases with a compiler that may reorder sums, as a consumer's flags may allow.
#include "threshold_simd_test.cpp"

namespace {

TEST(threshold_simd_under_fast_math, is_compiled_with_that_flag) {
#if defined(__FAST_MATH__)
  constexpr bool has_flag = true;
#else
  constexpr bool has_flag = false;
#endif
  EXPECT_TRUE(has_flag) << "compile this file with -ffast-math";
}

}  // namespace
