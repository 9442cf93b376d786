// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/plan/detail/running_statistics.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE void follow_statistics(parameter_set& parameters, std::span<std::byte* const> parts,
                                          parameter_range const& which) {
  auto const table = parameters.table();
  for (std::size_t p = 0; p + 1 < table.size(); ++p) {
    if (table[p].spec.role != parameter_role::running_mean || table[p].frozen) continue;
    if (!which.has(static_cast<int>(p))) continue;
    parameter const &of_mean = table[p], &of_variance = table[p + 1];
    parameters.passes().follow_statistics(parameters.master(), parts, of_mean.offset, of_variance.offset,
                                          static_cast<std::size_t>(of_mean.spec.dims.elements()),
                                          of_mean.spec.momentum);
  }
}

}  // namespace cohort::detail
