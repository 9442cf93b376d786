// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/detail/simd_vector.hpp>

/// The function exponential(x), compiled for each instruction set.
namespace cohort::detail {

namespace baseline_f32 {
#include <cohort/execution/detail/exponential_simd.inc>
}
#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/execution/detail/exponential_simd.inc>
}
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/execution/detail/exponential_simd.inc>
}
#include <cohort/detail/end_simd.inc>
#endif

}  // namespace cohort::detail
