// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/normalisation.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/transform/column_schema.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cohort {

/// The steps of a transform_pipeline.
namespace pipeline {

/// Keeps the rows for which `keep` is true. A row for which `keep` is missing is removed.
struct filter {
  std::string keep = {};  ///< an expression, as in derive::formula
  bool operator==(filter const&) const = default;
};

/// Computes a column from the columns of the same row: a number, an integer (0 or 1, for a truth value) or a
/// text. The new column replaces a column of the same name; if there is none, the new column is appended.
///
///     derive{.column = "bmi", .formula = "weight / pow(height / 100, 2)"}
///     derive{.column = "risk", .formula = "if(age >= 65 or history == 'heart', 'high', 'low')"}
///
/// Parameters  `formula`: numbers, 'texts', true, false, missing; columns by name, other names in backticks;
///             or, and, not; == != < <= > >=; + - * / % (a remainder with the sign of the divisor);
///             abs sqrt exp log floor ceil round min(a, b) max(a, b) pow(a, b); if(condition, a, b);
///             is_missing(a); length(text); time('2026-11-25T22:30:00Z'); year month day hour minute weekday
///             (Monday 0) of a time, in UTC. At most 4096 bytes, 256 operations and operands, and 32 nested
///             parts.
/// After     the result of an operation on a missing value is missing. Exceptions: is_missing; `if`, whose
///           unused branch may be missing; `and` and `or`, if the other operand determines the result. In a
///           comparison an operand that is not finite counts as missing. A result that is not finite (1 / 0,
///           log(-1), min(log(-1), 5)) does not match the schema.
struct derive {
  std::string column = {};
  std::string formula = {};
  bool operator==(derive const&) const = default;
};

/// Turns columns of texts into categories whose values are the texts of the training rows, sorted. If a
/// column already is a category, the values that do not occur in the training rows are removed.
struct categories {
  std::vector<std::string> columns = {};
  /// An additional value, after the others, for missing texts and for texts that are not in the training
  /// rows. Empty: an unknown text does not match the schema, and a missing text stays missing.
  std::string other = {};
  bool operator==(categories const&) const = default;
};

/// Replaces each category with one column of numbers per value, named "column=value": 1 if the row has this
/// value, otherwise 0. For a missing value all numbers are missing. A category may have max_values values.
struct one_hot {
  static constexpr std::size_t max_values = 65'536;
  std::vector<std::string> columns = {};
  bool operator==(one_hot const&) const = default;
};

/// Replaces each category with an integer, the index of the row's value: for an embedding, or for values with
/// an order.
struct index {
  std::vector<std::string> columns = {};
  bool operator==(index const&) const = default;
};

/// Rescales numbers by a map that is fitted to the training rows. The results are numbers. Missing numbers
/// are ignored by the fit and stay missing.
struct normalise {
  std::vector<std::string> columns = {};
  rescaling how = rescaling::standardise;
  bool operator==(normalise const&) const = default;
};

/// Replacement of missing values. most_frequent: of several equally frequent values, the smallest one.
enum class replacement : std::uint8_t { mean, median, most_frequent, constant };

/// Replaces missing values with a value that is fitted to the training rows, or with a constant. With mean
/// or median, a column of integers or times becomes one of numbers. Texts accept most_frequent and constant.
struct impute {
  std::vector<std::string> columns = {};
  replacement with = replacement::mean;
  double number = 0;      ///< the constant of columns of numbers
  std::string text = {};  ///< the constant of columns of texts; of a category, one of its values
  bool operator==(impute const&) const = default;
};

/// Removes columns.
struct drop {
  std::vector<std::string> columns = {};
  bool operator==(drop const&) const = default;
};

/// Removes all other columns, and sorts these columns in the given order.
struct keep {
  std::vector<std::string> columns = {};
  bool operator==(keep const&) const = default;
};

/// Renames a column.
struct rename {
  std::string from = {};
  std::string to = {};
  bool operator==(rename const&) const = default;
};

/// Makes one sequence of the rows with equal keys, sorted by `order`. Only `windows` may follow. A row
/// without key or order, and the second row with the same key and order, do not match the schema.
struct group_by_key {
  std::vector<std::string> keys = {};  ///< columns of texts, categories, integers or times
  std::string order = {};              ///< a column of numbers; empty: the order of the rows
  bool operator==(group_by_key const&) const = default;
};

/// Divides each sequence into windows, which may overlap.
///
/// Units     rows. The rows after a sequence's last window form a shorter window if `partial` is true;
///           otherwise these rows are not used.
struct windows {
  int length = 0;
  int stride = 1;
  bool partial = false;
  bool operator==(windows const&) const = default;
};

}  // namespace pipeline

/// One step of a pipeline.
using transform_step =
    std::variant<pipeline::filter, pipeline::derive, pipeline::categories, pipeline::one_hot, pipeline::index,
                 pipeline::normalise, pipeline::impute, pipeline::drop, pipeline::keep, pipeline::rename,
                 pipeline::group_by_key, pipeline::windows>;

/// The values that a step has learned about a column from the training rows.
///
/// Units     `zero`, `unit`: of normalise, whose result is (value − zero) / unit.
struct fitted_column {
  std::string column = {};
  std::vector<std::string> values = {};  ///< of categories: the sorted values, then `other`
  double zero = 0;
  double unit = 1;
  double number = 0;      ///< of impute: the replacement in a column of numbers
  std::string text = {};  ///< of impute: the replacement in a column of texts
  bool operator==(fitted_column const&) const = default;
};

/// Description of how rows of a schema become examples. fitted_pipeline fits the pipeline to training rows
/// and applies it.
///
///     transform_pipeline const how{
///         .schema = {{{.name = "age", .type = column_type::integer, .lowest = 0}, {.name = "income"},
///                     {.name = "city", .type = column_type::text}}},
///         .steps = {pipeline::filter{"age >= 18"}, pipeline::impute{.columns = {"income"}},
///                   pipeline::categories{.columns = {"city"}, .other = "other"},
///                   pipeline::one_hot{{"city"}}, pipeline::normalise{{"age", "income"}}}};
///
/// Order     steps from first to last. Each step reads the result of the step before.
struct transform_pipeline {
  static constexpr int version = 1;

  table_schema schema{};
  std::vector<transform_step> steps{};

  /// Throws setting_error, naming the step, for a column that does not exist (as far as columns are known
  /// before categories are fitted), a column of another type, an expression that is not valid, no columns, a
  /// name twice, an empty window, or steps after group_by_key.
  void check() const;

  /// Reads a pipeline.
  ///
  /// Errors    data_error with name, line, column and path for another version, an unknown field, or a value
  ///           of another type or out of range. For an unknown field, the error names the nearest known
  ///           field. check() is not called.
  static transform_pipeline from_json(std::string_view text, std::string_view name = "JSON text");
  /// Reads a parsed pipeline.
  static transform_pipeline from(io::json_value root);

  bool operator==(transform_pipeline const&) const = default;
};

/// Returns the name of a step in messages and files: "filter", "derive", …
std::string_view name_of(transform_step const& step);

/// Writes a pipeline as indented JSON with all fields.
///
/// Errors    numeric_error if a number is not finite.
/// Exact     from_json(to_json(p)) equals p.
std::string to_json(transform_pipeline const& how);

}  // namespace cohort
