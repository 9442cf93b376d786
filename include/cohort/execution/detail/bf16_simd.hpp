// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>

namespace cohort::detail {

/// Passes between f32 and bf16, of n elements.
///
/// Before    `which` is at most machine_isa(); arrays do not overlap.
/// Exact     as bf16::nearest and bf16::value, on every instruction set.

/// q = nearest(w + kept), then w = w + kept − q.
void round_to_bf16([[maybe_unused]] isa which, float* w, float const* kept, bf16* q, std::size_t n);

/// w = q
void widen([[maybe_unused]] isa which, bf16 const* q, float* w, std::size_t n);

/// Whether none is infinite or NaN.
bool all_finite([[maybe_unused]] isa which, bf16 const* q, std::size_t n);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/execution/impl/bf16_simd.ipp>
#endif
