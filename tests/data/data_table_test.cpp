// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/read_table.hpp>
#include <set>

#include "view_cases.hpp"

namespace data_table_test {

using namespace view_cases;

data_table const& irises() {
  static data_table const table = parse_table(
      "length,width,species,year\n5,2,setosa,0\n6,3,virginica,2\n7,1,setosa,1\n4,8,versicolor,2\n",
      "irises.csv");
  return table;
}

TEST(data_table, provides_inputs_and_a_class_with_label_names) {
  dataset const data = irises().examples({.inputs = {"width", "length"}, .target = "species"});
  tensor_description const& target = data.describe().targets[0];
  EXPECT_EQ(target.name, "species");
  EXPECT_EQ(target.classes, 3);
  EXPECT_EQ(target.label_names, (std::vector<std::string>{"setosa", "versicolor", "virginica"}));
  loader batches(data, {.batch = 4, .shuffle = false});
  batch const* const b = batches.next();
  auto const inputs = b->input().as<float>();
  EXPECT_EQ(values(inputs.begin(), inputs.end()), (values{2, 5, 3, 6, 1, 7, 8, 4}));
  EXPECT_EQ(read(data).labels, (std::vector<std::int32_t>{0, 2, 0, 1}));
}

TEST(data_table, uses_all_columns_but_the_target_as_inputs_by_default) {
  data_table const numbers = parse_table("a,b,c\n1,2,3\n4,5,6\n", "t", {.number_type = element_type::f64});
  dataset const data = numbers.examples({.target = "b", .regression = true});
  EXPECT_EQ(data.describe().inputs[0].example, shape(2));
  EXPECT_EQ(data.describe().targets[0].example, shape(1));
  loader batches(data, {.batch = 2, .shuffle = false});
  batch const* const b = batches.next();
  EXPECT_EQ(b->input().as<float>()[1], 3);
  EXPECT_EQ(b->target().as<float>()[1], 5);
  EXPECT_TRUE(numbers.examples({}).describe().targets.empty());
  EXPECT_EQ(numbers.examples({}).describe().inputs[0].example, shape(3));
}

TEST(data_table, accepts_class_labels_that_are_numbers) {
  table_examples settings{.inputs = {"length"}, .target = "year"};
  EXPECT_EQ(irises().examples(settings).describe().targets[0].classes, 3);
  settings.classes = 7;
  EXPECT_EQ(irises().examples(settings).describe().targets[0].classes, 7);
  settings.classes = 2;
  expect_parts(refused<data_error>([&] { irises().examples(settings); }),
               {"irises.csv, column year, row 2", "expected a whole number from 0 to 1, got 2"});
  settings = {.inputs = {"a"}, .target = "b"};
  for (char const* const wrong : {"1.5", "-1", "1e9"})
    expect_parts(refused<data_error>(
                     [&] { parse_table("a,b\n1," + std::string(wrong) + "\n", "t").examples(settings); }),
                 {"t, column b, row 1", "class label",
                  "expected a whole number from 0; for a number to predict, set .regression = true, got "});
  EXPECT_EQ(
      refused<data_error>([&] { parse_table("a,b\n1,32.1\n", "t").examples(settings); }),
      "a value is not a valid class label (t, column b, row 1): expected a whole number from 0; for a number "
      "to predict, set .regression = true, got 32.1");
}

TEST(data_table, keeps_the_memory_of_its_examples_alive) {
  dataset const data = parse_table("a,b\n1,2\n", "t").examples({.target = "b", .regression = true});
  EXPECT_EQ(read(data).first, (values{1}));
}

TEST(data_table, refuses_texts_and_missing_values_as_inputs) {
  expect_parts(refused<data_error>([] { irises().examples({.target = "year"}); }),
               {"column species", "table_encoder", "\"setosa\" at irises.csv:2:5"});
  data_table const table = parse_table("a,b,c\n1,2,x\n3,,\n", "t", {.missing = missing_values::keep});
  EXPECT_EQ(table.texts("c")[0], "x");
  EXPECT_EQ(table.texts("c")[1], "");
  expect_parts(refused<data_error>([&] {
                 table.examples({.inputs = {"a", "b"}});
               }),
               {"t, column b, row 2", "missing"});
  expect_parts(refused<data_error>([&] { table.examples({.inputs = {"a"}, .target = "c"}); }),
               {"t, column c, row 2"});
  expect_parts(
      refused<data_error>([&] { table.examples({.inputs = {"a"}, .target = "b", .regression = true}); }),
      {"t, column b, row 2"});
  expect_parts(refused<data_error>([&] { table.examples({.inputs = {"a"}, .target = "b"}); }),
               {"t, column b, row 2"});
}

TEST(data_table, reports_row_numbers_of_the_file) {
  data_table const table =
      parse_table("a,b\n1,2\n,3\n4,5\n?,6\n7,-8\n", "t", {.missing = missing_values::drop});
  std::vector<int> numbers;
  for (int row = 0; row < table.rows(); ++row) numbers.push_back(table.row_number(row));
  EXPECT_EQ(numbers, (std::vector{1, 3, 5}));
  expect_parts(refused<data_error>([&] { table.examples({.target = "b"}); }),
               {"t, column b, row 5", "got -8"});
  expect_parts(refused<data_error>([&] {
                 table.select(indices{2, 0}).examples({.target = "b"});
               }),
               {"t, column b, row 5", "got -8"});
  data_table const first = parse_table("a,b\n,2\n1,3\n", "t", {.missing = missing_values::drop});
  EXPECT_EQ(first.row_number(0), 2);
  EXPECT_EQ(irises().row_number(2), 3);
}

TEST(data_table, refuses_unknown_and_repeated_columns) {
  expect_parts(refused<setting_error>([] { irises().numbers("size"); }),
               {"irises.csv", "length, width, species, year", "got size"});
  EXPECT_THROW(irises().examples({.target = "size"}), setting_error);
  expect_parts(refused<setting_error>([] { irises().examples({.inputs = {"year"}, .target = "year"}); }),
               {"got year"});
  EXPECT_THROW(irises().examples({.inputs = {"year", "year"}}), setting_error);
  EXPECT_EQ(refused<setting_error>([] { parse_table("y\n0\n1\n", "t").examples({.target = "y"}); }),
            "there is no input column (inputs and target): expected at least 1 column beside the target, got "
            "only y");
  expect_parts(refused<data_error>([] { irises().texts("year"); }), {"column year", "contains numbers"});
}

TEST(data_table, selects_rows_and_keeps_vocabularies) {
  data_table const part = irises().select(indices{3, 0, 0});
  EXPECT_EQ(part.rows(), 3);
  EXPECT_EQ(part.numbers("length")[0], 4);
  EXPECT_EQ(part.texts("species").codes[2], 0);
  EXPECT_EQ(part.texts("species")[2], part.texts("species").vocabulary[0]);
  EXPECT_EQ(part.texts("species").vocabulary.size(), 3U);
  expect_parts(refused<setting_error>([] {
                 irises().select(indices{0, 4});
               }),
               {"index 1", "0 to 3", "got 4"});
}

TEST(data_table, is_split_by_rows) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 90; ++i) text += std::to_string(i) + (i % 3 ? ",common\n" : ",rare\n");
  data_table const table = parse_table(text, "t");
  for (std::string const& column : {std::string(), std::string("kind")}) {
    auto const [training, held_out] = split(table, 0.8, {.seed = 1, .stratified_by = column});
    EXPECT_EQ(training.rows(), 72);
    EXPECT_EQ(held_out.rows(), 18);
    values all(training.numbers("x").begin(), training.numbers("x").end());
    all.insert(all.end(), held_out.numbers("x").begin(), held_out.numbers("x").end());
    std::sort(all.begin(), all.end());
    for (int i = 0; i < 90; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], static_cast<float>(i));
    if (!column.empty()) {
      EXPECT_EQ(std::ranges::count(held_out.texts("kind").codes, 1), 6);
    }
  }
  EXPECT_THROW(split(table, 0.8, {.stratified_by = "y"}), setting_error);
}

TEST(data_table, is_split_into_a_part_for_each_fraction) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 40; ++i) text += std::to_string(i) + (i % 4 == 0 ? ",rare\n" : ",usual\n");
  data_table const table = parse_table(text, "t");
  std::vector<data_table> const parts = split(table, {0.5, 0.3, 0.2}, {.seed = 2, .stratified_by = "kind"});
  ASSERT_EQ(parts.size(), 3U);
  std::vector<int> rows, rare;
  std::set<float> all;
  for (data_table const& part : parts) {
    rows.push_back(part.rows());
    rare.push_back(static_cast<int>(std::ranges::count(part.texts("kind").codes, 0)));
    all.insert(part.numbers("x").begin(), part.numbers("x").end());
  }
  EXPECT_EQ(rows, (std::vector{20, 12, 8}));
  EXPECT_EQ(rare, (std::vector{5, 3, 2}));
  EXPECT_EQ(all.size(), 40U);
  EXPECT_THROW(split(table, {0.5, 0.3}), setting_error);
}

TEST(data_table, is_stratified_by_a_column_of_numbers) {
  std::string text = "x,survived\n";
  for (int i = 0; i < 90; ++i) text += std::to_string(i) + (i % 9 == 0 ? ",?\n" : i % 3 ? ",1\n" : ",0\n");
  auto const [training, held_out] = split(parse_table(text, "t", {.missing = missing_values::keep}), 0.8,
                                          {.seed = 1, .stratified_by = "survived"});
  std::span<float const> const held = held_out.numbers("survived");
  EXPECT_EQ(std::ranges::count(held, 1.0F), 12);
  EXPECT_EQ(std::ranges::count(held, 0.0F), 4);
  EXPECT_EQ(std::ranges::count_if(held, [](float x) { return x != x; }), 2);
}

TEST(data_table, returns_columns_as_a_time_series) {
  time_series const series = irises().series({"year", "length"});
  EXPECT_EQ(series.rows(), 4);
  EXPECT_EQ(series.columns(), (std::vector<std::string>{"year", "length"}));
  EXPECT_EQ(series.values().as<float>()[3], 6);
  EXPECT_THROW(irises().series(), data_error);
}

}  // namespace data_table_test
