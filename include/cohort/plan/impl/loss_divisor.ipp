// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/plan/detail/loss_divisor.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE loss_divisor::loss_divisor(graph_view net) {
  mask_sources const masks = masks_of(net);
  if (masks.averaged < 0) return;
  auto const which = static_cast<std::size_t>(masks.averaged);
  source_ = masks.all[which];
  for (std::size_t m = 0; m < which; ++m) mask_ += masks.all[m].input < 0 ? 1 : 0;
}

COHORT_CORE_INLINE double loss_divisor::of(std::span<tensor_view const> inputs,
                                           std::span<tensor_view const> masks, std::span<float const> weights,
                                           int count) const {
  int const length = source_.length;
  bool const from_input = source_.input >= 0;
  tensor_view const* steps = nullptr;
  if (length > 0 && from_input) steps = &inputs[static_cast<std::size_t>(source_.input)];
  if (length > 0 && !from_input && !masks.empty()) steps = &masks[mask_];
  double sum = 0;
  for (int n = 0; n < count; ++n) {
    int const of_example = steps ? count_steps(steps->rows(n, 1)) : std::max(length, 1);
    sum += (weights.empty() ? 1.0 : static_cast<double>(weights[static_cast<std::size_t>(n)])) * of_example;
  }
  return sum;
}

}  // namespace cohort::detail
