// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/time_series.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <span>
#include <utility>

namespace cohort::detail {

template <class T>
void require_finite_rows(std::span<T const> values, std::vector<std::string> const& columns) {
  auto const bad =
      std::ranges::find_if(values, [](T value) { return !is_finite(value) || !fits_f32(value); });
  if (bad == values.end()) return;
  auto const element = static_cast<std::size_t>(bad - values.begin());
  throw data_error(
      {.what = is_finite(*bad) ? "a value of a series is out of range" : "a value of a series is not finite",
       .where = {"column ", columns[element % columns.size()], ", row ", element / columns.size() + 1},
       .expected = is_finite(*bad) ? "a number within the range of f32" : "a finite number",
       .got = {static_cast<double>(*bad)}});
}

}  // namespace cohort::detail

namespace cohort {

time_series::time_series(tensor_view values, std::vector<std::string> columns,
                         std::shared_ptr<void const> owner, std::optional<std::uint64_t> pipeline)
    : values_(values), columns_(std::move(columns)), owner_(std::move(owner)), pipeline_(pipeline) {
  if (values_.dims.rank != 2 || values_.dims.elements() == 0
      || (values_.type != element_type::f32 && values_.type != element_type::f64))
    throw shape_error({.what = "a series does not consist of rows of numbers",
                       .where = "time_series",
                       .expected = "rows x columns of f32 or f64",
                       .got = {to_string(values_.dims), " of ", name_of(values_.type)}});
  auto const count = static_cast<std::size_t>(values_.dims[1]);
  if (columns_.empty())
    for (std::size_t c = 0; c < count; ++c) columns_.push_back("c" + std::to_string(c));
  if (columns_.size() != count)
    throw data_error({.what = "the number of names differs from the number of columns",
                      .where = "time_series",
                      .expected = {count, " names"},
                      .got = {columns_.size()}});
  detail::with_real(values_.type, [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    detail::require_finite_rows<real>(values_.as<real>(), columns_);
  });
}

int time_series::rows_in(std::size_t elements, int columns) {
  if (columns < 1)
    throw shape_error({.what = "the number of columns is not positive",
                       .where = "time_series",
                       .expected = "at least 1",
                       .got = {columns}});
  if (elements % static_cast<std::size_t>(columns) != 0
      || elements / static_cast<std::size_t>(columns) > 0x7fffffffU)
    throw shape_error({.what = "the values do not form rows",
                       .where = "time_series",
                       .expected = {"a multiple of ", columns, " values, in at most 2147483647 rows"},
                       .got = {elements}});
  return static_cast<int>(elements / static_cast<std::size_t>(columns));
}

int time_series::column(std::string_view name) const {
  std::string known;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c] == name) return static_cast<int>(c);
    known += (c == 0 ? "" : ", ") + columns_[c];
  }
  throw setting_error({.what = "the series has no such column",
                       .where = "time_series",
                       .expected = {"one of ", known},
                       .got = std::string(name)});
}

time_series time_series::slice(int first, int count) const {
  if (first < 0 || count < 1 || first > rows() - count)
    throw setting_error({.what = "the series does not have these rows",
                         .where = "time_series::slice",
                         .expected = {"at least 1 row, within 0 to ", rows()},
                         .got = {count, " rows from ", first}});
  time_series part = *this;
  part.values_ = values_.rows(first, count);
  return part;
}

series_split split_series(time_series const& series, double training_fraction) {
  if (!(training_fraction > 0 && training_fraction < 1))
    throw setting_error({.what = "the fraction of a split is not between 0 and 1",
                         .where = "split_series",
                         .expected = "a fraction above 0 and below 1",
                         .got = {training_fraction}});
  int const rows = series.rows();
  int const training = static_cast<int>(std::floor(training_fraction * rows + 0.5));
  if (training == 0 || training == rows)
    throw setting_error({.what = "a part of the split is empty",
                         .where = {"split_series, fraction ", training_fraction},
                         .expected = "at least 1 row in each part",
                         .got = {training, " of ", rows, " rows"}});
  return {series.slice(0, training), series.slice(training, rows - training)};
}

}  // namespace cohort
