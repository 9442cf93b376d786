// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/detail/in_place.hpp>
#include <cohort/plan/detail/minimum_cut.hpp>
#include <cohort/plan/detail/plan_rows.hpp>
#include <cohort/plan/detail/recomputed_steps.hpp>
#include <cstdint>

namespace cohort::detail {

recomputed_steps choose_recomputed(std::vector<step_traffic> const& steps, std::size_t values) {
  std::size_t const source = 2 * values, sink = source + 1;
  auto const made = [](int v) { return 2 * static_cast<std::size_t>(v); };
  auto const read = [](int v) { return 2 * static_cast<std::size_t>(v) + 1; };
  minimum_cut cut(sink + 1);
  std::vector<char> needed(values, false);
  for (step_traffic const& step : steps) {
    cut.add(source, made(step.value),
            step.cost < 0 ? minimum_cut::unlimited : static_cast<std::int64_t>(step.cost));
    cut.add(made(step.value), read(step.value), static_cast<std::int64_t>(step.output_bytes));
    if (step.workspace_bytes > 0)
      cut.add(made(step.value), sink, static_cast<std::int64_t>(step.workspace_bytes));
    if (step.cost >= 0)
      for (int u : step.reads) cut.add(read(u), made(step.value), minimum_cut::unlimited);
    for (int u : step.backward_reads) {
      if (!needed[static_cast<std::size_t>(u)]) cut.add(read(u), sink, minimum_cut::unlimited);
      needed[static_cast<std::size_t>(u)] = true;
    }
  }
  std::vector<char> const sink_side = cut.sink_side(source, sink);
  recomputed_steps chosen;
  std::size_t before = 0, after = 0;
  for (step_traffic const& step : steps) {
    bool const recomputed = sink_side[made(step.value)] != 0;
    before += (needed[static_cast<std::size_t>(step.value)] ? step.output_bytes : 0) + step.workspace_bytes;
    after +=
        recomputed ? 0 : (sink_side[read(step.value)] != 0 ? step.output_bytes : 0) + step.workspace_bytes;
    chosen.recomputed.push_back(recomputed);
  }
  chosen.bytes_saved = before - after;
  return chosen;
}

}  // namespace cohort::detail
