// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/execution/flat_simd.hpp>
#include <type_traits>

namespace cohort {

namespace detail {

namespace scalar_f64 {
#include <cohort/execution/detail/flat_simd.inc>
}
#define COHORT_SIMD_BODY <cohort/execution/detail/flat_simd.inc>
#include <cohort/detail/simd_variants.inc>

}  // namespace detail

template <class T>
bool all_finite([[maybe_unused]] isa which, T const* x, std::size_t n) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if constexpr (std::is_same_v<T, double>) {
    return detail::scalar_f64::all_finite(x, n);
  } else {
#if defined(__x86_64__) || defined(__i386__)
    if (which == isa::avx512) return detail::avx512_f32::all_finite(x, n);
    if (which == isa::avx2) return detail::avx2_f32::all_finite(x, n);
#endif
    return detail::baseline_f32::all_finite(x, n);
  }
}

template <class T>
void sum_parts([[maybe_unused]] isa which, T* dst, T const* const* parts, int count, std::size_t n) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if constexpr (std::is_same_v<T, double>) {
    detail::scalar_f64::sum_parts(dst, parts, count, n);
  } else {
#if defined(__x86_64__) || defined(__i386__)
    if (which == isa::avx512) return detail::avx512_f32::sum_parts(dst, parts, count, n);
    if (which == isa::avx2) return detail::avx2_f32::sum_parts(dst, parts, count, n);
#endif
    detail::baseline_f32::sum_parts(dst, parts, count, n);
  }
}

template bool all_finite(isa, float const*, std::size_t);
template bool all_finite(isa, double const*, std::size_t);
template void sum_parts(isa, float*, float const* const*, int, std::size_t);
template void sum_parts(isa, double*, double const* const*, int, std::size_t);

}  // namespace cohort
