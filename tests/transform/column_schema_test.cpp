// SPDX-License-Identifier: Apache-2.0
#include <cohort/transform/column_schema.hpp>
#include <limits>

#include "../data/refused.hpp"

namespace column_schema_test {

using namespace cohort;
using strings = std::vector<std::string>;

table_schema const people{{{.name = "age", .type = column_type::integer, .lowest = 0},
                           {.name = "city", .type = column_type::category, .values = {"Rome", "Bern"}},
                           {.name = "note", .type = column_type::text},
                           {.name = "when", .type = column_type::time}}};

TEST(column_schema, finds_columns_by_name) {
  people.check();
  EXPECT_EQ(people.find("city"), &people.columns[1]);
  EXPECT_EQ(people.find("City"), nullptr);
  EXPECT_EQ(name_of(column_type::category), "category");
  EXPECT_TRUE(people.columns[3].has_numbers());
  EXPECT_FALSE(people.columns[2].has_numbers());
}

TEST(column_schema, returns_the_settings_to_read_a_file) {
  table_settings const how =
      format_of(people, {.separator = ';', .columns = {"other"}, .number_columns = {"other"}});
  EXPECT_EQ(how.columns, (strings{"age", "city", "note", "when"}));
  EXPECT_EQ(how.text_columns, (strings{"city", "note"}));
  EXPECT_TRUE(how.number_columns.empty());
  EXPECT_EQ(how.number_type, element_type::f64);
  EXPECT_EQ(how.missing, missing_values::keep);
  EXPECT_EQ(how.separator, ';');
  table_schema const days{{{.name = "day", .type = column_type::time, .format = "%Y%m%d"}}};
  EXPECT_EQ(format_of(days).text_columns, strings{"day"});
}

TEST(column_schema, reports_the_invalid_column) {
  auto const refusal_of = [](std::vector<column_schema> columns) {
    return refused<setting_error>([&] { table_schema{std::move(columns)}.check(); });
  };
  expect_parts(refusal_of({}), {"a schema has no columns"});
  expect_parts(refusal_of({{.name = ""}}), {"a column has no name"});
  expect_parts(refusal_of({{.name = "a"}, {.name = "b"}, {.name = "a"}}), {"the same name", "column \"a\""});
  expect_parts(refusal_of({{.name = "a", .type = column_type::category}}),
               {"a category has no values (schema, column \"a\")", "the step categories"});
  expect_parts(refusal_of({{.name = "a", .type = column_type::category, .values = {"x", "y", "x"}}}),
               {"a value twice", "got \"x\""});
  expect_parts(refusal_of({{.name = "a", .type = column_type::text, .values = {"x"}}}),
               {"no category has values", "text"});
  expect_parts(refusal_of({{.name = "a", .type = column_type::text, .lowest = 1}}),
               {"a column of texts has bounds"});
  expect_parts(refusal_of({{.name = "a", .lowest = std::numeric_limits<double>::infinity()}}),
               {"a bound is not finite"});
  expect_parts(refusal_of({{.name = "a", .lowest = 2, .highest = 1}}), {"in the wrong order", "got 2 and 1"});
  expect_parts(refusal_of({{.name = "a", .type = column_type::text, .format = "%Y"}}),
               {"no time has a format (schema, column \"a\")", "type time", "got text"});
  expect_parts(refusal_of({{.name = "a", .type = column_type::time, .format = "dd/mm/yyyy"}}),
               {"a format of times is invalid (schema, column \"a\")", "%d/%m/%Y",
                "got \"dd/mm/yyyy\": no year (%Y or %y)"});
}

}  // namespace column_schema_test
