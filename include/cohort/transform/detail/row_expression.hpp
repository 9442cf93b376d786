// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/transform/column_schema.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

struct table_content;

/// Type of an expression's value.
enum class value_type : std::uint8_t { number, truth, text };

/// Value of an expression: a number, a truth value (0 or 1) or a text.
struct expression_value {
  double number = 0;
  std::string_view text{};
  bool missing = false;
};

/// An expression over the columns of a row, in the language that pipeline::derive documents.
class row_expression {
 public:
  static constexpr std::size_t max_bytes = 4096, max_operations = 256;
  static constexpr int max_depth = 32;

  enum class operation : std::uint8_t;
  struct node {
    operation what;
    std::uint32_t at = 0;  // position in the text
    int first = -1;        // index of the first operand
    int second = -1;
    int third = -1;
    double number = 0;
    std::string text{};  // a literal, or the name of a column
  };

  /// Parses an expression.
  ///
  /// Errors    setting_error with `where` and the position of the character, counted from 1.
  row_expression(std::string_view text, std::string_view where);

  /// Returns the names of the columns that occur, each once, in order of their first occurrence.
  std::vector<std::string> const& columns() const { return columns_; }
  /// Returns the type of the value.
  ///
  /// Errors    setting_error with position: a column that the schema does not have, an operand of another
  ///           type, or a comparison of a category with a text that is not one of its values.
  value_type type(table_schema const& schema) const;

  std::vector<node> const& nodes() const { return nodes_; }
  std::string const& where() const { return where_; }

 private:
  friend class expression_parser;

  std::vector<node> nodes_;  // operands before their operation; the last one is the expression
  std::vector<std::string> columns_;
  std::string where_;
};

/// An expression whose columns are those of a table.
class bound_expression {
 public:
  /// Before    `expression` and `table` outlive this object, and expression.type(schema of the table) throws
  ///           nothing.
  bound_expression(row_expression const& expression, table_content const& table);

  expression_value operator()(std::size_t row) const { return evaluate(nodes_->size() - 1, row); }

 private:
  struct bound_column {
    double const* numbers = nullptr;
    std::int32_t const* codes = nullptr;
    std::string const* vocabulary = nullptr;
  };

  expression_value evaluate(std::size_t node, std::size_t row) const;

  std::vector<row_expression::node> const* nodes_;
  std::vector<bound_column> columns_;  // one per node
};

}  // namespace cohort::detail
