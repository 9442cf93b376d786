// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/plan/detail/in_place.hpp>
#include <cohort/plan/detail/minimum_cut.hpp>
#include <cohort/plan/detail/plan_rows.hpp>
#include <cohort/plan/detail/recomputed_steps.hpp>
#include <cstdint>

namespace cohort::detail {

COHORT_CORE_INLINE recomputed_steps choose_recomputed(std::vector<step_traffic> const& steps,
                                                      std::size_t values) {
  std::size_t const beginning = 2 * values, end = beginning + 1;
  auto const made = [](int v) { return 2 * static_cast<std::size_t>(v); };
  auto const read = [](int v) { return 2 * static_cast<std::size_t>(v) + 1; };
  minimum_cut cut(end + 1);
  std::vector<char> needed(values, false);
  for (step_traffic const& step : steps) {
    cut.add(beginning, made(step.value),
            step.price < 0 ? minimum_cut::unlimited : static_cast<std::int64_t>(step.price));
    cut.add(made(step.value), read(step.value), static_cast<std::int64_t>(step.makes));
    if (step.workspace > 0) cut.add(made(step.value), end, static_cast<std::int64_t>(step.workspace));
    if (step.price >= 0)
      for (int u : step.reads) cut.add(read(u), made(step.value), minimum_cut::unlimited);
    for (int u : step.reads_backward) {
      if (!needed[static_cast<std::size_t>(u)]) cut.add(read(u), end, minimum_cut::unlimited);
      needed[static_cast<std::size_t>(u)] = true;
    }
  }
  std::vector<char> const behind = cut.behind(beginning, end);
  recomputed_steps chosen;
  std::size_t before = 0, after = 0;
  for (step_traffic const& step : steps) {
    bool const again = behind[made(step.value)] != 0;
    before += (needed[static_cast<std::size_t>(step.value)] ? step.makes : 0) + step.workspace;
    after += again ? 0 : (behind[read(step.value)] != 0 ? step.makes : 0) + step.workspace;
    chosen.again.push_back(again);
  }
  chosen.bytes_kept_less = before - after;
  return chosen;
}

}  // namespace cohort::detail
