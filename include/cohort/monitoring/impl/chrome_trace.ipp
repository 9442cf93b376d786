// SPDX-License-Identifier: Apache-2.0
#include <cohort/io/json_writer.hpp>
#include <cohort/monitoring/chrome_trace.hpp>

namespace cohort {

std::string chrome_trace(std::span<plan_row const> rows, machine_peaks const& peaks) {
  io::json_writer out(1);
  auto const track_name = [&](int track, char const* name) {
    out.begin_object(io::json_lines::one)
        .field("name", "thread_name")
        .field("ph", "M")
        .field("pid", 1)
        .field("tid", track);
    out.key("args").begin_object().field("name", name).end_object().end_object();
  };
  out.begin_object().field("displayTimeUnit", "ms").key("traceEvents").begin_array();
  track_name(1, "forward");
  track_name(2, "backward");
  double now = 0;
  for (plan_pass const direction : {plan_pass::forward, plan_pass::backward})
    for (plan_row const& row : rows) {
      if (row.direction != direction) continue;
      double const microseconds = row.calls > 0 ? 1e6 * row.seconds / static_cast<double>(row.calls) : 0;
      out.begin_object(io::json_lines::one).field("name", row.step);
      out.field("cat", direction == plan_pass::forward ? "forward" : "backward").field("ph", "X");
      out.field("ts", now).field("dur", microseconds).field("pid", 1);
      out.field("tid", direction == plan_pass::forward ? 1 : 2).key("args").begin_object();
      out.field("implementation", row.implementation).field("output", to_string(row.output));
      out.field("layout", row.layout).field("MFLOP", row.flops / 1e6).field("calls", row.calls);
      if (row.flops > 0 && microseconds > 0) out.field("GFLOP/s", row.flops / microseconds / 1e3);
      if (roofline const at = roofline_of(peaks, row.flops, row.bytes, row.bf16, microseconds / 1e6);
          at.share > 0)
        out.field("roofline", at.share).field("bound", at.by_memory ? "memory" : "arithmetic");
      out.end_object().end_object();
      now += microseconds;
    }
  return out.end_array().end_object().text();
}

}  // namespace cohort
