// SPDX-License-Identifier: Apache-2.0
// flags: -ffast-math
// The same cases with a compiler that may reorder sums, as a consumer's flags may allow.
#include "threshold_simd_test.cpp"

namespace {

TEST(threshold_simd_under_fast_math, is_compiled_with_that_flag) {
#if defined(__FAST_MATH__)
  SUCCEED();
#else
  FAIL() << "compile this file with -ffast-math";
#endif
}

}  // namespace
