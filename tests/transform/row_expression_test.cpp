// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/data/detail/table_content.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/transform/detail/row_expression.hpp>
#include <limits>
#include <string>

#include "../data/refused.hpp"

namespace row_expression_test {

using namespace cohort;
using detail::row_expression;
using detail::value_type;

double const none = std::numeric_limits<double>::quiet_NaN();

table_schema const schema{{{.name = "age", .type = column_type::integer},
                           {.name = "weight"},
                           {.name = "city", .type = column_type::category, .values = {"Rome", "Bern"}},
                           {.name = "note", .type = column_type::text},
                           {.name = "when", .type = column_type::time},
                           {.name = "body mass"}}};

/// Two rows: age 20 and missing; weight 80 and 50; Rome and missing; "ab" and "é"; 2026-11-25T22:30:00Z.
detail::table_content const& table() {
  static detail::table_content const made = [] {
    detail::table_content content;
    content.rows = 2;
    for (column_schema const& column : schema.columns) {
      content.by_name.emplace(column.name, content.columns.size());
      content.columns.emplace_back();
    }
    content.columns[0].f64 = {20, none};
    content.columns[1].f64 = {80, 50};
    content.columns[2] = {.is_text = true,
                          .f32 = {},
                          .f64 = {},
                          .codes = {1, -1},
                          .vocabulary = {"Bern", "Rome"},
                          .first_text = {}};
    content.columns[3] = {
        .is_text = true, .f32 = {}, .f64 = {}, .codes = {0, 1}, .vocabulary = {"ab", "é"}, .first_text = {}};
    content.columns[4].f64 = {1795645800, -1};
    content.columns[5].f64 = {7, 8};
    return content;
  }();
  return made;
}

/// The value of an expression in a row; NaN if it is missing.
double number(std::string const& text, std::size_t row = 0) {
  row_expression const parsed(text, "here");
  EXPECT_NE(parsed.type(schema), value_type::text) << text;
  detail::expression_value const value = detail::bound_expression(parsed, table())(row);
  return value.missing ? none : value.number;
}

std::string text_value(std::string const& text, std::size_t row = 0) {
  row_expression const parsed(text, "here");
  EXPECT_EQ(parsed.type(schema), value_type::text) << text;
  detail::expression_value const value = detail::bound_expression(parsed, table())(row);
  return value.missing ? "missing" : std::string(value.text);
}

bool is_missing(double value) { return std::isnan(value); }

TEST(row_expression, applies_the_usual_operator_precedence) {
  EXPECT_EQ(number("1 + 2 * 3"), 7);
  EXPECT_EQ(number("(1 + 2) * 3"), 9);
  EXPECT_EQ(number("10 - 4 - 3"), 3);
  EXPECT_EQ(number("16 / 4 / 2"), 2);
  EXPECT_EQ(number("-2 * -3"), 6);
  EXPECT_EQ(number("- - 2"), 2);
  EXPECT_EQ(number("2 * 3 % 4"), 2);
  EXPECT_EQ(number("1 < 2 and 2 < 1 or true"), 1);
  EXPECT_EQ(number("true or true and false"), 1);
  EXPECT_EQ(number("not false and false"), 0);
  EXPECT_EQ(number("not (false and false)"), 1);
  EXPECT_EQ(number("1 + 1 == 2"), 1);
  EXPECT_EQ(number("1e3 + .5"), 1000.5);
}

TEST(row_expression, computes_functions) {
  EXPECT_EQ(number("abs(-3)"), 3);
  EXPECT_EQ(number("sqrt(16)"), 4);
  EXPECT_EQ(number("exp(0)"), 1);
  EXPECT_EQ(number("log(exp(1))"), 1);
  EXPECT_EQ(number("floor(-1.5)"), -2);
  EXPECT_EQ(number("ceil(-1.5)"), -1);
  EXPECT_EQ(number("round(2.5)"), 3);
  EXPECT_EQ(number("min(2, 3)"), 2);
  EXPECT_EQ(number("max(2, 3)"), 3);
  for (char const* bad : {"min(5, log(-1))", "min(log(-1), 5)", "max(5, 1 / 0)", "max(-1 / 0, 5)"})
    EXPECT_TRUE(std::isnan(number(bad))) << bad;
  EXPECT_EQ(number("pow(2, 10)"), 1024);
  EXPECT_EQ(number("length(note)", 1), 1);  // characters, not bytes
  EXPECT_EQ(number("7 % 3"), 1);
  EXPECT_EQ(number("-7 % 3"), 2);  // the sign of the divisor, as in Python
  EXPECT_EQ(number("7 % -3"), -2);
}

TEST(row_expression, computes_times) {
  EXPECT_EQ(number("when == time('2026-11-25T22:30:00Z')"), 1);
  EXPECT_EQ(number("year(when)"), 2026);
  EXPECT_EQ(number("month(when)"), 11);
  EXPECT_EQ(number("day(when)"), 25);
  EXPECT_EQ(number("hour(when)"), 22);
  EXPECT_EQ(number("minute(when)"), 30);
  EXPECT_EQ(number("weekday(when)"), 2);
  EXPECT_EQ(number("year(when)", 1), 1969);
  EXPECT_TRUE(is_missing(number("year(1e300)")));
}

TEST(row_expression, reads_columns_and_texts) {
  EXPECT_EQ(number("age + weight"), 100);
  EXPECT_EQ(number("`body mass` + 1"), 8);
  EXPECT_EQ(number("city == 'Rome'"), 1);
  EXPECT_EQ(number("note < \"b\""), 1);
  EXPECT_EQ(text_value("note"), "ab");
  EXPECT_EQ(text_value("'it''s'"), "it's");
  EXPECT_EQ(text_value("if(age > 18, city, 'child')"), "Rome");
  EXPECT_EQ(text_value("if(weight < 60, 'light', missing)"), "missing");
  EXPECT_EQ(text_value("if(weight < 60, 'light', missing)", 1), "light");
  EXPECT_EQ(row_expression("a + b * a - `c d`", "x").columns(), (std::vector<std::string>{"a", "b", "c d"}));
}

TEST(row_expression, returns_missing_for_missing_operands) {
  EXPECT_TRUE(is_missing(number("age + 1", 1)));
  EXPECT_TRUE(is_missing(number("age > 1", 1)));
  EXPECT_TRUE(is_missing(number("city == 'Rome'", 1)));
  EXPECT_TRUE(is_missing(number("not (age > 1)", 1)));
  EXPECT_TRUE(is_missing(number("if(age > 1, 1, 2)", 1)));
  EXPECT_EQ(number("is_missing(age)", 1), 1);
  EXPECT_EQ(number("is_missing(age)", 0), 0);
  EXPECT_EQ(number("if(is_missing(age), 0, age)", 1), 0);
  // Three-valued logic.
  EXPECT_EQ(number("age > 1 and false", 1), 0);
  EXPECT_EQ(number("false and age > 1", 1), 0);
  EXPECT_EQ(number("age > 1 or true", 1), 1);
  EXPECT_TRUE(is_missing(number("age > 1 and true", 1)));
  EXPECT_TRUE(is_missing(number("age > 1 or false", 1)));
  EXPECT_TRUE(is_missing(number("missing == 1")));
  EXPECT_TRUE(is_missing(number("0 / 0 < 1")));
  EXPECT_TRUE(std::isinf(number("1 / 0")));
}

TEST(row_expression, reports_the_position_of_a_mistake) {
  auto const refusal_of = [](std::string const& text) {
    return refused<setting_error>([&] { row_expression(text, "steps[0], filter"); });
  };
  EXPECT_EQ(
      refusal_of("age +"),
      "an expression is not valid (steps[0], filter, character 6): expected an operand, got the end of the "
      "expression");
  expect_parts(refusal_of(""), {"character 1", "an operand"});
  expect_parts(refusal_of("age 5"), {"character 5", "an operator, or the end", "got \"5\""});
  expect_parts(refusal_of("(age"), {"character 5", "an operator or )"});
  expect_parts(refusal_of("age = 5"), {"character 5", "got \"= 5\""});
  expect_parts(refusal_of("1 < 2 < 3"), {"character 7", "joined by `and`"});
  expect_parts(refusal_of("'abc"), {"character 1", "a text that ends with '"});
  expect_parts(refusal_of("``"), {"character 1", "a column's name", "an empty name"});
  expect_parts(refusal_of("sqr(2)"), {"character 1", "the nearest name is sqrt", "got \"sqr\""});
  expect_parts(refusal_of("pow(2)"), {"character 6", "pow has 2 arguments"});
  expect_parts(refusal_of("sqrt(2, 3)"), {"character 7", "sqrt has 1 argument,"});
  expect_parts(refusal_of("time(when)"), {"character 6", "a text in quotes"});
  expect_parts(refusal_of("time('yesterday')"), {"character 6", "a time such as", "got \"yesterday\""});
  expect_parts(refusal_of("1e999"), {"character 1", "a finite number"});
  expect_parts(refusal_of("age and or"), {"character 9", "an operand"});
  expect_parts(refusal_of("\xff"), {"character 1", "UTF-8"});
  expect_parts(refusal_of("a # b"), {"character 3", "got \"# b\""});
}

TEST(row_expression, refuses_operands_of_the_wrong_type) {
  auto const refusal_of = [](std::string const& text) {
    return refused<setting_error>([&] { row_expression(text, "here").type(schema); });
  };
  expect_parts(refusal_of("aged + 1"), {"here, character 1", "the nearest name is age", "got \"aged\""});
  expect_parts(refusal_of("1 + city"), {"character 5", "expected a number, got a text"});
  expect_parts(refusal_of("not age"), {"character 5", "expected true or false, got a number"});
  expect_parts(refusal_of("age and true"), {"character 1", "expected true or false, got a number"});
  expect_parts(refusal_of("true or age"), {"character 9", "true or false"});
  expect_parts(refusal_of("age == city"), {"character 5", "of the same type", "a number and a text"});
  expect_parts(refusal_of("if(true, 1, 'a')"), {"character 1", "a number and a text"});
  expect_parts(refusal_of("if(1, 1, 2)"), {"character 4", "true or false"});
  expect_parts(refusal_of("length(age)"), {"character 8", "a text"});
  expect_parts(refusal_of("sqrt(true)"), {"character 6", "a number", "true or false"});
  expect_parts(refusal_of("city == 'Roma'"),
               {"character 9", "one of the values", "the nearest name is Rome"});
  expect_parts(refusal_of("'Roma' != city"), {"character 1", "one of the values"});
  EXPECT_EQ(row_expression("missing", "").type(schema), value_type::number);
  EXPECT_EQ(row_expression("age > 1", "").type(schema), value_type::truth);
}

TEST(row_expression, refuses_expressions_that_are_too_long_or_nested) {
  auto const refusal_of = [](std::string const& text) {
    return refused<setting_error>([&] { row_expression(text, "here"); });
  };
  auto const repeated = [](std::string const& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  expect_parts(refusal_of(repeated("(", 33) + "1" + repeated(")", 33)), {"at most 32 nested parts"});
  expect_parts(refusal_of(repeated("-", 40) + "1"), {"at most 32 nested parts"});
  expect_parts(refusal_of(repeated("not ", 40) + "true"), {"at most 32 nested parts"});
  expect_parts(refusal_of("1" + repeated("+1", 128)), {"at most 256 operations and operands"});
  expect_parts(refusal_of(repeated(" ", 4097)), {"at most 4096 bytes", "4097"});
  EXPECT_EQ(number("1" + repeated("+1", 127)), 128);
  EXPECT_EQ(number(repeated("(", 30) + "1" + repeated(")", 30)), 1);
}

}  // namespace row_expression_test
