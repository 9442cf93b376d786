// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

/// The same names once for each instruction set: `number` (an element), `real` (a vector of `lanes` of them),
/// `bits` (their patterns), load, store, root, quotient. Passes over memory are written once in these names,
/// in .inc files, and included into each namespace inside a region compiled for its instruction set. (One
/// template over the instruction set would be compiled with the consumer's flags: its vectors are split into
/// the baseline's before anything is inlined.) double has one scalar instantiation. The root is a compiler
/// builtin because <immintrin.h> takes half a second to compile.
namespace cohort::detail {

namespace baseline_f32 {
using number = float;
using real [[gnu::vector_size(16)]] = float;
using bits [[gnu::vector_size(16)]] = std::uint32_t;
inline real root(real x) {
#if defined(__SSE2__)
  return __builtin_ia32_sqrtps(x);
#else
  for (int lane = 0; lane < 4; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
  return x;
#endif
}
inline real quotient(real a, real b) { return a / b; }
#include <cohort/execution/detail/simd_vector.inc>
}  // namespace baseline_f32

namespace scalar_f64 {
using number = double;
using real = double;
using bits = std::uint64_t;
inline real root(real x) { return __builtin_sqrt(x); }
inline real quotient(real a, real b) { return a / b; }
#include <cohort/execution/detail/simd_vector.inc>
}  // namespace scalar_f64

#if defined(__x86_64__) || defined(__i386__)

#include <cohort/execution/detail/begin_avx2.inc>
namespace avx2_f32 {
using number = float;
using real [[gnu::vector_size(32)]] = float;
using bits [[gnu::vector_size(32)]] = std::uint32_t;
inline real root(real x) { return __builtin_ia32_sqrtps256(x); }
inline real quotient(real a, real b) { return a / b; }
#include <cohort/execution/detail/simd_vector.inc>
}  // namespace avx2_f32
#include <cohort/execution/detail/begin_avx512.inc>
namespace avx512_f32 {
using number = float;
using real [[gnu::vector_size(64)]] = float;
using bits [[gnu::vector_size(64)]] = std::uint32_t;
inline constexpr short all_lanes = -1;
// The divider takes some 16 cycles for a vector and bounds AdaGrad and Adam on data in a cache. These two,
// from 14-bit estimates by a step of Newton's method, are within 2 units in the last place (where denormals
// are flushed, roots of numbers above 1e-30). Infinity gives NaN; the smallest normal number keeps the
// estimate of √0 finite.
inline real fused(real a, real b, real c) {
  constexpr int current_rounding = 4;
  return __builtin_ia32_vfmaddps512_mask(a, b, c, all_lanes, current_rounding);
}
inline real root(real x) {
  real const estimate = __builtin_ia32_rsqrt14ps512_mask(x + 0x1p-126F, x, all_lanes);
  real const first = x * estimate;
  return fused(0.5F * estimate, fused(-first, first, x), first);
}
inline real quotient(real a, real b) {
  real const one = real{} + 1.0F;
  real const estimate = __builtin_ia32_rcp14ps512_mask(b, b, all_lanes);
  return a * fused(estimate, fused(-b, estimate, one), estimate);
}
#include <cohort/execution/detail/simd_vector.inc>
}  // namespace avx512_f32
#include <cohort/execution/detail/end_simd.inc>

#endif

}  // namespace cohort::detail
