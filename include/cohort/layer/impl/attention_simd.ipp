// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/detail/config.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/layer/detail/attention_simd.hpp>
#include <limits>
#include <utility>

namespace cohort::detail {

/// Rounded up to whole vectors of every instruction set.
constexpr std::size_t attention_padded(std::size_t keys) { return (keys + 15) / 16 * 16; }

namespace baseline_f32 {
#include <cohort/layer/detail/attention_simd.inc>
}  // namespace baseline_f32

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/execution/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/layer/detail/attention_simd.inc>
}  // namespace avx2_f32
#include <cohort/execution/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/layer/detail/attention_simd.inc>
}  // namespace avx512_f32
#include <cohort/execution/detail/end_simd.inc>
#endif

COHORT_CORE_INLINE attention_passes attention_passes_of([[maybe_unused]] isa which) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return {avx512_f32::forward_of_head, avx512_f32::backward_of_head};
  if (which == isa::avx2) return {avx2_f32::forward_of_head, avx2_f32::backward_of_head};
#endif
  return {baseline_f32::forward_of_head, baseline_f32::backward_of_head};
}

COHORT_CORE_INLINE std::size_t attention_scratch(attention_sizes const& s, bool backward) {
  std::size_t const keys = attention_padded(static_cast<std::size_t>(s.keys));
  std::size_t elements = keys * (1 + s.width() + attention_block);
  if (backward) elements += keys * (s.value_width() + attention_block);
  if (s.rotary > 0) elements += static_cast<std::size_t>(s.queries + s.keys) * s.width() * (backward ? 2 : 1);
  return attention_padded(elements);
}

}  // namespace cohort::detail
