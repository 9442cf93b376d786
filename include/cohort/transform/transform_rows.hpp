// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/data_table.hpp>
#include <cohort/transform/column_schema.hpp>
#include <string>
#include <variant>
#include <vector>

namespace cohort {

/// A value of a row: missing, a number or a text.
using row_value = std::variant<std::monostate, double, std::string>;
/// A row: one value per column of a schema, in the order of the schema.
using table_row = std::vector<row_value>;

/// Returns a table of rows, with numbers as f64.
///
/// Errors    setting_error from schema.check(); shape_error for a row with a wrong number of values;
///           data_error naming `where`, column and row for a number in a column of texts, or a text in a
///           column of numbers (a column of times accepts a time as text).
data_table table_of(table_schema const& schema, std::vector<table_row> const& rows,
                    std::string const& where = "rows");

}  // namespace cohort
