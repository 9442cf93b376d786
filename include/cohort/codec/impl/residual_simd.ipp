// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/detail/simd_vector.hpp>

namespace cohort::detail {

#define COHORT_SIMD_BODY <cohort/codec/detail/residual_simd.inc>
#include <cohort/detail/simd_variants.inc>

void refuse_residual(std::uint64_t element) {
  throw numeric_error({.what = "a residual is not finite",
                       .where = {"element ", element},
                       .expected = "finite gradients with magnitudes of at most 2^100",
                       .got = "infinity or NaN"});
}

}  // namespace cohort::detail

namespace cohort {

bool within_range([[maybe_unused]] isa which, std::span<float const> x) {
  constexpr auto limit = std::bit_cast<std::uint32_t>(largest_gradient);
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::all_within(x.data(), x.size(), limit);
  if (which == isa::avx2) return detail::avx2_f32::all_within(x.data(), x.size(), limit);
#endif
  return detail::baseline_f32::all_within(x.data(), x.size(), limit);
}

double clip_residual([[maybe_unused]] isa which, std::span<float> r, float c) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::clip(r.data(), r.size(), c);
  if (which == isa::avx2) return detail::avx2_f32::clip(r.data(), r.size(), c);
#endif
  return detail::baseline_f32::clip(r.data(), r.size(), c);
}

void scale_residual([[maybe_unused]] isa which, std::span<float> r, float factor) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::scale(r.data(), r.size(), factor);
  if (which == isa::avx2) return detail::avx2_f32::scale(r.data(), r.size(), factor);
#endif
  detail::baseline_f32::scale(r.data(), r.size(), factor);
}

double residual_square_sum([[maybe_unused]] isa which, std::span<float const> r) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::sum_of_squares(r.data(), r.size());
  if (which == isa::avx2) return detail::avx2_f32::sum_of_squares(r.data(), r.size());
#endif
  return detail::baseline_f32::sum_of_squares(r.data(), r.size());
}

}  // namespace cohort
