// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text_table.hpp>
#include <cohort/plan/plan_text.hpp>

namespace cohort::detail {

[[gnu::noinline]] std::string in_bytes(double bytes) {
  char const* const units[]{"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return decimal_text(bytes, unit == 0 ? 0 : 1) + ' ' + units[unit];
}

[[gnu::noinline]] std::string text_of_roofline(machine_peaks const& peaks, plan_row const& row,
                                               double seconds) {
  roofline const at = roofline_of(peaks, row.flops, row.bytes, row.bf16, seconds);
  if (!(at.share > 0)) return {};
  if (at.by_memory && at.share > 1) return "cache";
  return decimal_text(100 * at.share, 0) + (at.by_memory ? " % bytes" : " % flops");
}

}  // namespace cohort::detail

namespace cohort {

std::string text_of(std::span<plan_row const> rows, machine_peaks const& peaks) {
  double total = 0;
  for (plan_row const& row : rows) total += row.seconds;
  bool const timed = total > 0;
  detail::text_table text({.others = detail::columns::right, .left = 5, .indent = 0});
  auto const number = [](bool known, double value, int decimals) {
    return known ? detail::decimal_text(value, decimals) : std::string();
  };
  bool const bounded = peaks.flops > 0;
  if (timed)
    text.add({"pass", "step", "output", "layout", "implementation", "MFLOP", "us/call", "GFLOP/s", "share",
              bounded ? "roofline" : ""});
  else
    text.add({"pass", "step", "output", "layout", "implementation", "MFLOP"});
  for (plan_row const& row : rows) {
    char const* const direction = row.recomputed                        ? "recompute"
                                  : row.frozen                          ? "frozen"
                                  : row.direction == plan_pass::forward ? "forward"
                                                                        : "backward";
    std::string const output = to_string(row.output), mega = number(row.flops > 0, row.flops / 1e6, 3);
    if (!timed) {
      text.add({direction, row.step, output, row.layout, row.implementation, mega});
      continue;
    }
    double const each = row.calls > 0 ? row.seconds / static_cast<double>(row.calls) : 0;
    text.add({direction, row.step, output, row.layout, row.implementation, mega, number(true, each * 1e6, 1),
              number(row.flops > 0 && each > 0, row.flops / each / 1e9, 1),
              number(true, 100 * row.seconds / total, 1) + " %", detail::text_of_roofline(peaks, row, each)});
  }
  return text.text();
}

std::string text_of(recomputation_cost const& cost) {
  if (cost.kernels == 0) return {};
  return detail::text_of(
      {cost.kernels, " kernels run again, ", detail::decimal_text(cost.flops / 1e9, 1), " GFLOP and ",
       detail::in_bytes(cost.bytes_moved), " moved (", detail::decimal_text(100 * cost.share_of_bytes, 1),
       " % of the step's bytes), to save ", detail::in_bytes(static_cast<double>(cost.bytes_saved))});
}

std::string text_of(plan const& p) {
  plan_memory const m = p.memory();
  auto const text = [](std::size_t bytes) { return detail::in_bytes(static_cast<double>(bytes)); };
  std::string const recomputed = text_of(p.recomputed());
  return detail::text_of({text_of(p.rows()), "batch ", p.batch(), ": parameters ", text(m.parameters),
                          ", gradients ", text(m.gradients), ", working copies ", text(m.working_copies),
                          ", activations ", text(m.activations), ", total ", text(m.total()),
                          recomputed.empty() ? "" : "\nrecomputation: ", recomputed, '\n'});
}

}  // namespace cohort
