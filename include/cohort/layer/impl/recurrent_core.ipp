// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/detail/recurrent_core.hpp>

namespace cohort::detail {

recurrent_sizes::recurrent_sizes(recurrent_cell const& cell, int examples, int rows_per_step, int rows) {
  auto const padded = [](std::size_t elements) { return (elements + 15) / 16 * 16; };
  auto const all = static_cast<std::size_t>(rows), some = static_cast<std::size_t>(rows_per_step);
  std::size_t const per_row = padded(all * cell.width()), per_step = padded(some * cell.width());
  x = padded(all * cell.inputs());
  gates = padded(all * cell.columns());
  before = per_row;
  sums = padded(some * cell.columns());
  diff_read = per_step;
  if (cell.recurrent_dropout > 0) read = per_row;
  if (cell.kind == cell_kind::lstm) {
    cells = per_row;
    diff_cells = per_step;
    if (cell.has_initial_state) first_cells = per_step;
  }
  if (cell.is_gru()) {
    other = per_row;
    diff_sums = sums;
    diff_direct = per_step;
  }
  if (cell.kind == cell_kind::gru_before) diff_reset = per_step;
  if (cell.dropout > 0 || cell.recurrent_dropout > 0)
    kept = padded(static_cast<std::size_t>(examples) * (cell.inputs() + cell.width()));
}

}  // namespace cohort::detail
