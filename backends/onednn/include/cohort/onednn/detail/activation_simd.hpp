// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cstddef>

namespace cohort::detail {

/// Activations that Cohort computes itself, because oneDNN loses precision by cancellation for x far below 0:
/// its softplus(−20) is −1e-7, and its gelu(−5) has a relative error of 1/4.
enum class curve { softplus, gelu, gelu_tanh, mish };

/// Passes of an activation over n elements of f32 or bf16, computed in f32; y may alias x, and dx may alias
/// dy.
///
///     forward   x → y           y = f(x)
///     backward  x, dy → dx      dx = f′(x)·dy
///
/// Exact     down to the smallest normal number, the relative errors of f and f′ in f32 are at most 1e-6
///           (softplus, gelu, mish) or 2.5e-5 (gelu_tanh); near a zero of f′, the absolute error of f′ is at
///           most 1e-6. Results below the smallest normal number are rounded to denormals. Results for NaN
///           are NaN.
struct activation_passes {
  void (*forward)(void const* x, void* y, std::size_t n);
  void (*backward)(void const* x, void const* dy, void* dx, std::size_t n);
};

/// Returns the f32 passes for an instruction set. If `narrow`, ignores `which` and returns the bf16 passes
/// for AVX-512, which onednn_bf16 requires.
activation_passes activation_passes_for(curve of, isa which, bool narrow);

}  // namespace cohort::detail
