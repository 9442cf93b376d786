// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/transform/detail/row_expression.hpp>
#include <cohort/transform/transform_pipeline.hpp>
#include <cohort/transform/transform_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// A pipeline with parsed expressions, and the values that its steps have learned so far.
struct pipeline_program {
  /// Errors    setting_error for those errors of transform_pipeline::check that do not depend on the columns.
  explicit pipeline_program(transform_pipeline pipeline);

  transform_pipeline how;
  std::vector<std::optional<row_expression>> expressions;         // of filter and derive
  std::vector<std::optional<std::vector<fitted_column>>> fitted;  // nullopt: not fitted yet, or no fit
  std::size_t row_steps = 0;                                      // number of steps before group_by_key
  // The following members are set when all steps are fitted.
  table_schema schema;  // of the result
  transform_report report;
  std::uint64_t fingerprint = 0;

  /// Returns whether a step learns from the training rows.
  bool learns(std::size_t step) const;
  /// Returns whether a step can be applied to rows.
  bool is_ready(std::size_t step) const { return !learns(step) || fitted[step].has_value(); }
  pipeline::group_by_key const* grouping() const;
  pipeline::windows const* windowing() const;
};

/// Returns a step's place for messages: "steps[2], one_hot".
std::string place_of_step(transform_pipeline const& how, std::size_t step);

}  // namespace cohort::detail
