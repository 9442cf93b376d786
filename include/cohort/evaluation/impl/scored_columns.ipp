// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/scored_columns.hpp>
#include <cohort/tensor/finite.hpp>
#include <utility>

namespace cohort::detail {

scored_columns::scored_columns(tensor_view scores, tensor_view targets, int columns, std::int64_t first,
                               double lowest, double highest)
    : scores_(scores), targets_(targets), columns_(static_cast<std::size_t>(columns)) {
  auto const numbers = [](tensor_view const& t) {
    return t.type == element_type::f32 || t.type == element_type::f64;
  };
  bool const by_index = targets.type == element_type::i32;
  std::int64_t const each = by_index ? 1 : columns;
  if (scores.dims.rank < 1 || !numbers(scores)
      || scores.dims.elements() != static_cast<std::int64_t>(scores.dims[0]) * columns)
    refuse_shape("scores", text_of({"examples x ", columns, ", f32 or f64"}), scores);
  if (targets.dims.rank < 1 || targets.dims[0] != scores.dims[0]
      || targets.dims.elements() != scores.dims[0] * each || !(by_index || numbers(targets)))
    refuse_shape("targets",
                 text_of({scores.dims[0], " labels, i32, or ", scores.dims[0], 'x', columns, " numbers"}),
                 targets);
  int const classes = columns > 1 ? columns : 2;
  for (std::size_t n = 0; n < examples(); ++n) {
    auto const refuse = [&](clause expected, clause got) {
      throw data_error({.what = "cannot evaluate this example",
                        .where = {"example ", first + static_cast<std::int64_t>(n)},
                        .expected = std::move(expected),
                        .got = std::move(got)});
    };
    if (by_index && (label(n) < 0 || label(n) >= classes))
      refuse({"a label from 0 to ", classes - 1}, {label(n)});
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!is_finite(score(n, c))) refuse("finite scores", {"NaN or infinity in column ", c});
      if (!(score(n, c) >= lowest && score(n, c) <= highest))
        refuse({"scores from ", lowest, " to ", highest}, {score(n, c)});
      if (double const t = by_index ? 0 : at(targets_, n * columns_ + c); t != 0 && t != 1)
        refuse("targets of 0 or 1", {t});
    }
  }
}

bool scored_columns::positive(std::size_t n, std::size_t c) const {
  if (targets_.type != element_type::i32) return at(targets_, n * columns_ + c) == 1;
  return static_cast<std::size_t>(label(n)) == (columns_ == 1 ? 1 : c);
}

double scored_columns::at(tensor_view const& t, std::size_t i) {
  return t.type == element_type::f32 ? static_cast<double>(t.as<float>()[i]) : t.as<double>()[i];
}

void scored_columns::refuse_shape(char const* where, std::string expected, tensor_view const& got) {
  throw shape_error({.what = "cannot evaluate these scores",
                     .where = where,
                     .expected = std::move(expected),
                     .got = {to_string(got.dims), ", ", name_of(got.type)}});
}

}  // namespace cohort::detail
