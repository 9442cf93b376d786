// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/execution/detail/bf16_simd.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/onednn/detail/rounding.hpp>
#include <cohort/tensor/bf16.hpp>

namespace cohort::detail {

COHORT_ONEDNN_INLINE void round_to_bf16(float const* from, std::uint16_t* to, std::size_t n) {
  std::size_t i = 0;
#if defined(__x86_64__) || defined(__i386__)
  if (best_isa() == isa::avx512) i = avx512_f32::round_vectors(from, to, n);
#endif
  for (; i < n; ++i) to[i] = rounded_by_processor(from[i]);
}

}  // namespace cohort::detail
