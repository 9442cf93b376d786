// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

/// Vector types and functions. Each instruction set has a namespace with the same names: `number` (an
/// element), `real` (a vector of `lanes` elements), `bits` (bit patterns), load, store, root, quotient.
///
/// A loop over memory is written once with these names, in an .inc file. The file is included into each
/// namespace, in a region that is compiled for the namespace's instruction set. A template parameter for the
/// instruction set would not work: templates are compiled with the consumer's flags, so the compiler would
/// split the vectors into baseline vectors before inlining. double has only a scalar variant. root() uses
/// compiler builtins, because <immintrin.h> adds half a second of compile time.
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

#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
using number = float;
using real [[gnu::vector_size(32)]] = float;
using bits [[gnu::vector_size(32)]] = std::uint32_t;
inline real root(real x) { return __builtin_ia32_sqrtps256(x); }
inline real quotient(real a, real b) { return a / b; }
#include <cohort/execution/detail/simd_vector.inc>
}  // namespace avx2_f32
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
using number = float;
using real [[gnu::vector_size(64)]] = float;
using bits [[gnu::vector_size(64)]] = std::uint32_t;
inline constexpr short all_lanes = -1;
// A vector division or square root takes about 16 cycles, which limits AdaGrad and Adam on data in a cache.
// root and quotient refine a 14-bit estimate by one Newton step instead. Their error is at most 2 units in
// the last place. If denormals are flushed, root's bound holds only for numbers above 1e-30. For infinity the
// result is NaN. Adding the smallest normal number keeps the estimate for √0 finite.
inline real fused_multiply_add(real a, real b, real c) {
  constexpr int current_rounding = 4;
  return __builtin_ia32_vfmaddps512_mask(a, b, c, all_lanes, current_rounding);
}
inline real root(real x) {
  real const estimate = __builtin_ia32_rsqrt14ps512_mask(x + 0x1p-126F, x, all_lanes);
  real const first = x * estimate;
  return fused_multiply_add(0.5F * estimate, fused_multiply_add(-first, first, x), first);
}
inline real quotient(real a, real b) {
  real const one = real{} + 1.0F;
  real const estimate = __builtin_ia32_rcp14ps512_mask(b, b, all_lanes);
  return a * fused_multiply_add(estimate, fused_multiply_add(-b, estimate, one), estimate);
}
#include <cohort/execution/detail/simd_vector.inc>
}  // namespace avx512_f32
#include <cohort/detail/end_simd.inc>

#endif

}  // namespace cohort::detail
