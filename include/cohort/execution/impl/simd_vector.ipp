// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cstddef>

namespace cohort::detail::baseline_f32 {

COHORT_CORE_INLINE real root(real x) {
#if defined(__SSE2__)
  return __builtin_ia32_sqrtps(x);
#else
  for (int lane = 0; lane < 4; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
  return x;
#endif
}

}  // namespace cohort::detail::baseline_f32
