// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/transform/detail/pipeline_program.hpp>
#include <cohort/transform/detail/row_frame.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the schema after a step.
///
/// Before    program.is_ready(step); check_step(program, step, schema) throws nothing.
table_schema schema_after(pipeline_program const& program, std::size_t step, table_schema schema);

/// Applies a step to rows.
///
/// Before    as schema_after, for the frame's schema.
/// Errors    with bad_record::stop, data_error for a row that does not match the schema.
void apply_step(pipeline_program const& program, std::size_t step, row_frame& frame,
                transform_settings const& how, transform_report& report);

/// Returns the schema of the column "column=value" that one_hot makes for a value.
column_schema indicator_of(column_schema const& column, std::string const& value);

}  // namespace cohort::detail
