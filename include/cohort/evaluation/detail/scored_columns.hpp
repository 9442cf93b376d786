// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cohort::detail {

/// Scores and targets of examples, by columns. For each column an example has a score and a binary target
/// (positive or negative).
///
/// Shapes    scores N×C (any shape of C elements per example), f32 or f64. targets: N class indices (i32), or
///           C values per example, all 0 or 1 (f32, f64). With one column the classes are 0 and 1, and the
///           column is class 1.
/// Errors    shape_error. data_error naming the example if a score is not finite or not in [lowest, highest],
///           a label is out of range, or a number is neither 0 nor 1. The constructor checks all data.
class scored_columns {
 public:
  scored_columns(tensor_view scores, tensor_view targets, int columns, std::int64_t first,
                 double lowest = -std::numeric_limits<double>::max(),
                 double highest = std::numeric_limits<double>::max());

  std::size_t examples() const { return static_cast<std::size_t>(scores_.dims[0]); }
  std::size_t columns() const { return columns_; }
  double score(std::size_t n, std::size_t c) const { return at(scores_, n * columns_ + c); }
  bool positive(std::size_t n, std::size_t c) const;

 private:
  std::int32_t label(std::size_t n) const { return targets_.as<std::int32_t>()[n]; }
  static double at(tensor_view const& t, std::size_t i);
  static void refuse_shape(char const* where, std::string expected, tensor_view const& got);

  tensor_view scores_;
  tensor_view targets_;
  std::size_t columns_;
};

}  // namespace cohort::detail
