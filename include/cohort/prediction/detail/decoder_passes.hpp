// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cstddef>

namespace cohort::detail {

/// y ← x · weightsᵀ + bias, for a few rows.
///
/// Shapes    x rows×inputs, weights units×inputs, y rows×units, bias units or null.
struct dense_rows {
  std::size_t rows, inputs, units;
  float const *x, *weights, *bias;
  float* y;
};

/// Attention of one head: one query over the keys and values (each steps×width) of `steps` steps.
struct cached_head {
  std::size_t steps, width;
  float scale;
  float const *query, *keys, *values;
  float* scores;  ///< scratch memory for `steps` elements
  float* output;
};

/// Kernels of token_decoder.
///
///     multiply   computes the units [begin, end) of all rows
///     attend     computes the output of one head
struct decoder_passes {
  void (*multiply)(dense_rows const& a, std::size_t begin, std::size_t end);
  void (*attend)(cached_head const& a);
};

/// Returns the kernels for an instruction set.
///
/// Before    `which` is at most machine_isa().
decoder_passes decoder_passes_for(isa which);

}  // namespace cohort::detail
