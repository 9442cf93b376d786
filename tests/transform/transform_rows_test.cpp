// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cohort/transform/transform_rows.hpp>

#include "../data/refused.hpp"

namespace transform_rows_test {

using namespace cohort;
using strings = std::vector<std::string>;

table_schema const schema{{{.name = "age"},
                           {.name = "city", .type = column_type::text},
                           {.name = "when", .type = column_type::time}}};

TEST(transform_rows, form_a_table) {
  data_table const table =
      table_of(schema, {{20.0, "Rome", 5.0}, {{}, {}, {}}, {-1.5, "Bern", "1970-01-01T00:00:09Z"}});
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table.columns(), (strings{"age", "city", "when"}));
  EXPECT_EQ(table.numbers<double>("age")[2], -1.5);
  EXPECT_TRUE(std::isnan(table.numbers<double>("age")[1]));
  EXPECT_EQ(table.texts("city")[0], "Rome");
  EXPECT_EQ(table.texts("city").codes[1], -1);
  EXPECT_EQ(table.texts("city").vocabulary[0], "Bern");  // sorted
  EXPECT_EQ(table.numbers<double>("when")[2], 9);
  EXPECT_EQ(table.row_number(2), 3);
  EXPECT_EQ(table_of(schema, {}).rows(), 0);
}

TEST(transform_rows, contain_times_in_the_format_of_the_column) {
  table_schema const days{{{.name = "day", .type = column_type::time, .format = "%d/%m/%Y"}}};
  data_table const table = table_of(days, {{"31/12/2024"}, {{}}});
  EXPECT_EQ(table.texts("day")[0], "31/12/2024");
  for (row_value const& other : {row_value("2024-12-31"), row_value(20241231.0)})
    expect_parts(refused<data_error>([&] { table_of(days, {{other}}); }),
                 {"column day, row 1", "expected a time in the format \"%d/%m/%Y\", got "});
  fitted_pipeline const fitted({.schema = days}, table_of(days, {}));
  EXPECT_EQ(fitted.apply(table_row{"31/12/2024"})->at(0), row_value(1735603200.0));
}

TEST(transform_rows, contain_times_with_blanks_around_them_as_rows_of_files) {
  data_table const table = table_of(schema, {{{}, " Rome", " 1970-01-01T00:00:09Z\t"}});
  EXPECT_EQ(table.numbers<double>("when")[0], 9);
  EXPECT_EQ(table.texts("city")[0], " Rome");
  table_schema const days{{{.name = "day", .type = column_type::time, .format = "%d/%m/%Y"}}};
  fitted_pipeline const fitted({.schema = days}, table_of(days, {}));
  EXPECT_EQ(fitted.apply(table_row{"\t31/12/2024 "})->at(0), row_value(1735603200.0));
  expect_parts(refused<data_error>([&] { table_of(days, {{"31/12/2024 10"}}); }), {"got \"31/12/2024 10\""});
}

TEST(transform_rows, with_values_of_another_type_are_refused) {
  expect_parts(refused<shape_error>([] {
                 table_of(schema, {{1.0, "a"}});
               }),
               {"rows, row 1", "expected 3, got 2"});
  expect_parts(refused<data_error>([] {
                 table_of(schema, {{"x", "a", {}}}, "queue");
               }),
               {"queue, column age, row 1", "a number", "got \"x\""});
  expect_parts(refused<data_error>([] {
                 table_of(schema, {{{}, 1.0, {}}});
               }),
               {"column city, row 1", "a text", "got 1"});
  expect_parts(refused<data_error>([] {
                 table_of(schema, {{{}, {}, "noon"}});
               }),
               {"column when", "a time or a number"});
  expect_parts(refused<data_error>([] {
                 table_of(schema, {{{}, std::string("a\0b", 3), {}}});
               }),
               {"without NUL bytes"});
}

}  // namespace transform_rows_test
