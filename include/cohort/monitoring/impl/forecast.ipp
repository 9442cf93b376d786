// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text.hpp>
#include <cohort/detail/text_table.hpp>
#include <cohort/monitoring/forecast.hpp>
#include <cohort/plan/plan_text.hpp>

namespace cohort {

std::string forecast(scaling_costs const& costs, double examples, std::span<int const> ranks) {
  using detail::decimal_text;
  detail::text_table table({.others = detail::columns::right, .left = 0});
  table.add({"ranks", "ms a step", "samples/s", "efficiency", "Deeplearning4j"});
  for (int const count : ranks) {
    scaling_estimate const at = estimate_scaling(costs, count);
    scaling_estimate const theirs = estimate_scaling(as_deeplearning4j_costs(costs), count, 1);
    double const each_second = at.step_seconds > 0 ? count * examples / at.step_seconds : 0;
    table.add({count, decimal_text(1e3 * at.step_seconds, 2), decimal_text(each_second, 0),
               decimal_text(100 * at.efficiency, 1) + " %",
               decimal_text(count > 1 ? 100 * theirs.efficiency : 100, 1) + " %"});
  }
  return detail::text_of(
      {"forecast for ranks with separate processors: ", decimal_text(1e3 * costs.step_seconds, 2),
       " ms of compute a step, ", detail::in_bytes(costs.bytes),
       costs.every > 1.01 ? " exchanged every " : " exchanged",
       costs.every > 1.01 ? decimal_text(costs.every, 1) + " steps" : "", ", ",
       decimal_text(1e3 * costs.link.latency, 3), " ms a message, ",
       detail::in_bytes(costs.link.bytes_per_second), "/s\n", table.text()});
}

}  // namespace cohort
