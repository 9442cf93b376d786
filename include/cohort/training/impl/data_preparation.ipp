// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/data_preparation.hpp>

namespace cohort::detail {

/// Throws data_error with the first of `rows` that is not in `prepared`. `target`: the column that rows to
/// predict may lack; empty: none.
[[noreturn]] void refuse_removed_row(data_table const& rows, data_table const& prepared,
                                     std::string const& target) {
  int row = 0;
  while (row < prepared.rows() && prepared.row_number(row) == rows.row_number(row)) ++row;
  throw data_error(
      {.what = "a filter of the kept pipeline removes a row",
       .where = {rows.name(), ", row ", rows.row_number(row)},
       .expected = target.empty() || rows.has(target)
                       ? "rows that pass the filters; kept_pipeline(run)->apply(rows) returns those that do"
                       : "a pipeline whose filters do not read \"" + target
                             + "\", which these rows lack: select the training rows by data_table::select "
                               "instead",
       .got = {prepared.rows(), " of ", rows.rows(), " rows"}});
}

void refuse_pipeline(std::string const& where) {
  throw setting_error({.what = "the rows are prepared by a pipeline that is not the model's",
                       .where = where,
                       .expected = "kept_pipeline(run)->apply(rows); predict also accepts rows as in a file",
                       .got = "rows that another pipeline has prepared"});
}

std::vector<std::string> data_preparation::classes_of(graph_view net, int layer) const {
  std::vector<int> const losses = net.with_role(layer_role::loss);
  auto const which = static_cast<std::size_t>(std::ranges::find(losses, layer) - losses.begin());
  if (which == losses.size()) return {};
  auto const fits = [&](std::vector<std::string> const& names) {
    return !names.empty() && std::ssize(names) == net.target(layer).classes;
  };
  if (which < class_names.size() && fits(class_names[which])) return class_names[which];
  if (which == 0 && encoder && fits(encoder->label_names())) return encoder->label_names();
  return {};
}

arrays data_preparation::inputs(data_table const& rows) const {
  if (pipeline && rows.pipeline() != 0 && rows.pipeline() != pipeline->fingerprint())
    refuse_pipeline(rows.name());
  data_table const prepared = pipeline && rows.pipeline() == 0 ? pipeline->apply(rows) : rows;
  if (prepared.rows() != rows.rows())
    refuse_removed_row(rows, prepared, encoder ? encoder->target() : std::string());
  if (encoder) return encoder->inputs(prepared);
  if (feature_names.size() == 1) return prepared.examples({.inputs = feature_names[0]});
  throw setting_error({.what = "this run does not know the columns of its tables",
                       .where = rows.name(),
                       .expected = "keep(encoder) or fit on a table first, or a model file of such a run",
                       .got = "neither"});
}

}  // namespace cohort::detail
