// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/text_table.hpp>
#include <cohort/plan/plan.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

/// "1.2 MB": powers of ten.
inline std::string in_bytes(double bytes) {
  char const* const units[]{"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return decimal_text(bytes, unit == 0 ? 0 : 1) + ' ' + units[unit];
}

}  // namespace detail

/// Kernels as lines; with times, FLOP/s and shares where a profile was taken.
inline std::string table(std::span<plan_row const> rows) {
  double total = 0;
  for (plan_row const& row : rows) total += row.seconds;
  bool const timed = total > 0;
  std::vector<std::string> head{"pass", "step", "output", "layout", "implementation", "MFLOP"};
  if (timed) head.insert(head.end(), {"us/call", "GFLOP/s", "share"});
  detail::text_table text({.others = detail::columns::right, .left = 5, .indent = 0});
  text.add(std::move(head));
  for (plan_row const& row : rows) {
    std::vector<std::string> line{row.direction == pass::forward ? "forward" : "backward", row.step, to_string(row.output),
                                  row.layout, row.implementation, row.flops > 0 ? detail::decimal_text(row.flops / 1e6, 3) : ""};
    if (timed) {
      double const each = row.calls > 0 ? row.seconds / static_cast<double>(row.calls) : 0;
      line.push_back(detail::decimal_text(each * 1e6, 1));
      line.push_back(row.flops > 0 && each > 0 ? detail::decimal_text(row.flops / each / 1e9, 1) : "");
      line.push_back(detail::decimal_text(100 * row.seconds / total, 1) + " %");
    }
    text.add(std::move(line));
  }
  return text.text();
}

/// The plan as text: its kernels, then its memory by kind.
inline std::string table(plan const& p) {
  plan_memory const m = p.memory();
  return table(p.rows()) + "batch " + std::to_string(p.batch()) + ": parameters "
         + detail::in_bytes(static_cast<double>(m.parameters)) + ", gradients "
         + detail::in_bytes(static_cast<double>(m.gradients)) + ", working copies "
         + detail::in_bytes(static_cast<double>(m.working_copies)) + ", activations "
         + detail::in_bytes(static_cast<double>(m.activations)) + ", together "
         + detail::in_bytes(static_cast<double>(m.total())) + '\n';
}

}  // namespace cohort
