// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/transform/detail/pipeline_program.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the columns that a step reads, or names.
std::vector<std::string> columns_read_by(pipeline_program const& program, std::size_t step);

/// Checks that a step can be applied to rows of a schema, as far as `schema` contains the columns.
///
/// Errors    setting_error naming step and column.
void check_step(pipeline_program const& program, std::size_t step, table_schema const& schema);

/// apply: the step is applied. gather: the step learns from its columns. block: the step reads a column that
/// depends on a step that is not fitted yet.
enum class step_action : std::uint8_t { apply, gather, block };

/// The action of one pass over the training rows at a step.
struct planned_step {
  step_action action;
  /// Columns that are removed from the rows after the step, because their values are not known in this pass.
  std::vector<std::string> forget{};
};

/// check: the pass continues behind steps that may remove rows depending on unknown columns.
enum class plan_purpose : std::uint8_t { pass, check };

/// One pass over rows: the steps up to the first that may remove rows and reads an unknown column.
struct pass_plan {
  std::vector<planned_step> steps{};
  table_schema schema{};  // of the known columns after these steps
};

/// Plans a pass.
///
/// After     each pass gathers for at least one step, if a step has to learn.
/// Errors    setting_error naming step and column.
pass_plan plan_of(pipeline_program const& program, plan_purpose purpose);

}  // namespace cohort::detail
