// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/transform/detail/pipeline_program.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the columns that a step reads or refers to by name.
std::vector<std::string> columns_read_by(pipeline_program const& program, std::size_t step);

/// Checks that a step can be applied to rows of a schema, as far as `schema` contains the columns.
///
/// Errors    setting_error naming step and column.
void check_step(pipeline_program const& program, std::size_t step, table_schema const& schema);

/// Action of a pass at a step. apply: applies the step. gather: gathers the statistics that the step learns
/// from. block: does nothing, because the step reads a column that depends on a step that is not fitted yet.
enum class step_action : std::uint8_t { apply, gather, block };

/// A step in a plan for one pass over rows.
struct planned_step {
  step_action action;
  /// Columns that are removed from the rows after the step, because their values are not known in this pass.
  std::vector<std::string> forget{};
};

/// Purpose of a plan. pass: to run the pass. check: to check all steps; the plan then also continues after
/// steps that may remove rows depending on unknown columns.
enum class plan_purpose : std::uint8_t { pass, check };

/// Plan for one pass over rows: the steps before the first step that may remove rows and reads an unknown
/// column.
struct pass_plan {
  std::vector<planned_step> steps{};
  table_schema schema{};  // schema of the known columns after these steps
};

/// Plans a pass.
///
/// After     if any step still has to learn, the pass gathers statistics for at least one step.
/// Errors    setting_error naming step and column.
pass_plan plan_of(pipeline_program const& program, plan_purpose purpose);

}  // namespace cohort::detail
