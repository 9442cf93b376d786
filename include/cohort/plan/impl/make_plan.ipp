// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/table.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE std::size_t bytes_needed(plan_memory const& m, plan_settings const& settings) {
  return m.parameters * static_cast<std::size_t>(1 + settings.state_arrays) + m.working_copies
         + (m.gradients + m.activations + (settings.accumulates ? m.accumulation : 0))
               * static_cast<std::size_t>(settings.contexts);
}

}  // namespace cohort::detail
