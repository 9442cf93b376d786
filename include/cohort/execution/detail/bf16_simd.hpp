// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>

namespace cohort::detail {

// Conversions between f32 and bf16 arrays of n elements.
//
// Before    `which` is at most machine_isa(); the arrays do not overlap.
// Exact     the same bits as bf16::nearest and bf16::value, on every instruction set.

/// Rounds with error feedback: q = nearest(w + residual), then w = w + residual − q, the new residual.
void round_to_bf16([[maybe_unused]] isa which, float* w, float const* residual, bf16* q, std::size_t n);

/// Converts bf16 to f32: w = q.
void widen([[maybe_unused]] isa which, bf16 const* q, float* w, std::size_t n);

/// Returns whether all elements are finite.
bool all_finite([[maybe_unused]] isa which, bf16 const* q, std::size_t n);

}  // namespace cohort::detail
