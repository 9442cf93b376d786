// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/plan.hpp>
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace cohort {

namespace detail {

/// Text in columns: the first left-aligned, the others as `right` says.
class text_table {
 public:
  explicit text_table(std::vector<std::string> head, std::vector<bool> right) : right_(std::move(right)) { add(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const {
    std::vector<std::size_t> width(right_.size());
    for (auto const& row : rows_)
      for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
    std::string made;
    for (auto const& row : rows_) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        std::string const space(width[c] - row[c].size(), ' ');
        line += (c > 0 ? "  " : "") + (right_[c] ? space + row[c] : row[c] + space);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      made += line + '\n';
    }
    return made;
  }

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

inline std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// "1.2 MB": powers of ten.
inline std::string in_bytes(double bytes) {
  char const* const units[]{"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return fixed(bytes, unit == 0 ? 0 : 1) + ' ' + units[unit];
}

}  // namespace detail

/// Kernels as lines; with times, FLOP/s and shares where a profile was taken.
inline std::string table(std::span<plan_row const> rows) {
  double total = 0;
  for (plan_row const& row : rows) total += row.seconds;
  bool const timed = total > 0;
  std::vector<std::string> head{"pass", "step", "output", "layout", "implementation", "MFLOP"};
  if (timed) head.insert(head.end(), {"us/call", "GFLOP/s", "share"});
  detail::text_table text(head, {false, false, false, false, false, true, true, true, true});
  for (plan_row const& row : rows) {
    std::vector<std::string> line{row.direction == pass::forward ? "forward" : "backward", row.step, to_string(row.output),
                                  row.layout, row.implementation, row.flops > 0 ? detail::fixed(row.flops / 1e6, 3) : ""};
    if (timed) {
      double const each = row.calls > 0 ? row.seconds / static_cast<double>(row.calls) : 0;
      line.push_back(detail::fixed(each * 1e6, 1));
      line.push_back(row.flops > 0 && each > 0 ? detail::fixed(row.flops / each / 1e9, 1) : "");
      line.push_back(detail::fixed(100 * row.seconds / total, 1) + " %");
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
