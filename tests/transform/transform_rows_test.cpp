// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/transform/transform_rows.hpp>

#include "../data/refused.hpp"

namespace transform_rows_test {

using namespace cohort;
using strings = std::vector<std::string>;

table_schema const schema{{{.name = "age"},
                           {.name = "city", .type = column_type::text},
                           {.name = "when", .type = column_type::time}}};

TEST(transform_rows, become_a_table) {
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

TEST(transform_rows, are_read_from_files_in_pieces) {
  std::string const path = fresh_path("rows.csv");
  std::ofstream(path) << "city,extra,age,when\n007,1,20,5\n,2,,\n";
  table_pieces const pieces = pieces_of({path, path}, schema);
  for (int pass = 0; pass < 2; ++pass) {
    int files = 0;
    pieces([&](data_table const& piece) {
      ++files;
      EXPECT_EQ(piece.name(), path);
      EXPECT_EQ(piece.columns(), (strings{"age", "city", "when"}));
      EXPECT_EQ(piece.texts("city")[0], "007");
      EXPECT_EQ(piece.numbers<double>("age")[0], 20);
    });
    EXPECT_EQ(files, 2);
  }
  pieces_of({}, schema)([](data_table const&) { FAIL() << "no file"; });
}

TEST(transform_report, adds_reports) {
  transform_report all{.rows = 5, .removed = 1, .skipped = 2, .problems = strings(9, "a")};
  all.add({.rows = 5, .removed = 1, .skipped = 1, .problems = {"b", "c"}});
  EXPECT_EQ(all.rows, 10);
  EXPECT_EQ(all.kept(), 5);
  EXPECT_EQ(all.problems.size(), transform_report::max_problems);
  EXPECT_EQ(all.problems.back(), "b");
  transform_settings const settings;
  EXPECT_EQ(settings.bad, bad_record::stop);
}

}  // namespace transform_rows_test
