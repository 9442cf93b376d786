// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_set.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <span>
#include <string_view>

namespace cohort::detail {

/// A dense tensor of f32 or f64 and its destination: parameter `p` of an arena.
struct tensor_to_load {
  tensor_view from;
  int p;
  std::byte* arena;
};

/// Writes dense tensors into their arenas, converted to the parameters' type and layouts. `source`: their
/// file.
///
/// After     all memory is allocated before the first value is written.
/// Errors    data_error if a running variance is not a number of at least 0; nothing is written.
void write_dense(parameter_set const& layouts, std::span<tensor_to_load const> all, std::string_view source);

}  // namespace cohort::detail
