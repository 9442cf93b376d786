// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A series of T rows with C values each, oldest first, in memory that is not copied.
///
/// Shapes    values T × C, row by row, f32 or f64. Columns have names; by default c0, c1, ….
/// Before    the memory does not change and outlives the series, unless `owner` keeps it alive.
/// Errors    shape_error for values of another shape or type; data_error with row and column if a value is
///           not finite or exceeds the range of f32; data_error if the numbers of names and columns differ.
class time_series {
 public:
  explicit time_series(tensor_view values, std::vector<std::string> columns = {},
                       std::shared_ptr<void const> owner = nullptr,
                       std::optional<std::uint64_t> pipeline = std::nullopt);

  /// Rows of `columns` values each, from a range of numbers: time_series(temperatures, 1).
  template <class R>
  requires detail::lasting_range<R> time_series(R&& values, int columns)
      : time_series({std::data(values), shape(rows_in(std::size(values), columns), columns)}) {}

  /// Does not compile, because the memory of a temporary range does not outlive the series. Compilers print
  /// the deleted function's line.
  // clang-format off
  template <class R>
  requires(detail::contiguous_range<R> && !detail::lasting_range<R>)
      time_series(R&&, int) = delete;  // keep the numbers in a variable
  // clang-format on

  int rows() const { return values_.dims[0]; }
  tensor_view values() const& { return values_; }
  tensor_view values() const&& = delete;  // keep the series in a variable
  std::vector<std::string> const& columns() const& { return columns_; }
  std::vector<std::string> const& columns() const&& = delete;  // keep the series in a variable
  std::shared_ptr<void const> const& owner() const { return owner_; }
  /// data_table::pipeline of the table that contains the rows; nullopt if no table does.
  std::optional<std::uint64_t> pipeline() const { return pipeline_; }

  /// Returns the index of the column `name`.  Errors: setting_error, with all names, if there is none.
  int column(std::string_view name) const;

  /// Returns the rows first, first + 1, …, first + count − 1.  Errors: setting_error if the series has fewer.
  time_series slice(int first, int count) const;

 private:
  static int rows_in(std::size_t elements, int columns);

  tensor_view values_;
  std::vector<std::string> columns_;
  std::shared_ptr<void const> owner_;
  std::optional<std::uint64_t> pipeline_;
};

/// A series in two parts: auto [training, held_out] = split_series(series, 0.8).
struct series_split {
  time_series training;
  time_series held_out;
};

/// Divides a series in time: the first round(training_fraction · rows) rows are for training, the later ones
/// are held out. Make windows of each part: windows of the whole series would overlap the boundary, and
/// overlapping windows in both parts make the held-out loss too small.
///
/// Errors    setting_error if the fraction is not between 0 and 1, or a part would be empty.
series_split split_series(time_series const& series, double training_fraction);

}  // namespace cohort
