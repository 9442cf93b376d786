// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/io/json.hpp>

#include "view_cases.hpp"

namespace table_encoder_test {

using namespace view_cases;
using strings = std::vector<std::string>;

table_settings const keep{.missing = missing_values::keep};

data_table const& training() {
  static data_table const table = parse_table(
      "age,city,job,income\n20,Rome,cook,low\n40,Bern,judge,high\n,Rome,cook,low\n90,Oslo,smith,high\n",
      "train.csv", keep);
  return table;
}

table_encoder from_text(std::string const& text) {
  io::json_document const document = io::parse_json(text);
  return table_encoder_from_json(document.root());
}

encoder_settings const settings{.target = "income", .impute = imputation::mean};

values inputs_of(dataset const& data, std::size_t which = 0) {
  loader batches(data, {.batch = 100, .shuffle = false});
  auto const span = batches.next()->input(which).as<float>();
  return {span.begin(), span.end()};
}

TEST(table_encoder, encodes_numbers_texts_and_the_class) {
  table_encoder const encoder(training(), settings);
  dataset const data = encoder.examples(training());
  EXPECT_EQ(inputs_of(data), (values{20, 0, 0, 1, 1, 0, 0,  //
                                     40, 1, 0, 0, 0, 1, 0,  //
                                     50, 0, 0, 1, 1, 0, 0,  //
                                     90, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(data.describe().targets[0].label_names, (strings{"high", "low"}));
  EXPECT_EQ(read(data).labels, (std::vector<std::int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(encoder.classes(), 2);
  EXPECT_EQ(encoder.column("city").width(), 3);
}

TEST(table_encoder, finds_columns_by_name_and_ignores_unknown_columns) {
  data_table const other = parse_table("x,job,city,income,age\nz,judge,Oslo,low,1\n", "test.csv");
  EXPECT_EQ(inputs_of(table_encoder(training(), settings).examples(other)), (values{1, 0, 1, 0, 0, 1, 0}));
}

TEST(table_encoder, encodes_a_table_without_target_for_prediction) {
  data_table const other = parse_table("age,city,job\n1,Rome,cook\n", "new.csv");
  EXPECT_TRUE(table_encoder(training(), settings).examples(other).describe().targets.empty());
  expect_parts(
      refused<setting_error>(
          [] { table_encoder(training(), settings).examples(parse_table("age,job\n1,cook\n", "new.csv")); }),
      {"the table lacks an input column of the encoder (new.csv): expected a column \"city\", got age, job"});
}

TEST(table_encoder, imputes_missing_numbers_from_the_training_table) {
  data_table const other = parse_table("age,city,job\n,Rome,cook\n", "new.csv", keep);
  auto const filled = [&](encoder_settings how) {
    return inputs_of(table_encoder(training(), how).examples(other))[0];
  };
  EXPECT_EQ(filled(settings), 50);
  EXPECT_EQ(filled({.target = "income", .impute = imputation::median}), 40);
  EXPECT_EQ(filled({.target = "income", .impute = imputation::constant, .constant = -1}), -1);
  expect_parts(refused<setting_error>([] {
                 table_encoder(training(),
                               {.target = "income", .impute = imputation::constant, .constant = NAN});
               }),
               {"encoder_settings::constant", "a finite number"});
  data_table const even = parse_table("a,b\n1,1\n,2\n4,3\n", "t", keep);
  EXPECT_EQ(inputs_of(table_encoder(even, {.impute = imputation::median}).examples(even)),
            (values{1, 1, 2.5F, 2, 4, 3}));
  expect_parts(refused<data_error>([] { table_encoder(training(), {.target = "income"}); }),
               {"train.csv, column age, row 3", "impute"});
  expect_parts(refused<data_error>([] {
                 table_encoder(parse_table("a,b\n1,\n2,\n", "t", keep), {.impute = imputation::mean});
               }),
               {"t, column b"});
}

TEST(table_encoder, does_not_learn_from_rows_outside_the_training_table) {
  table_encoder const encoder(training().select(indices{0, 1}), settings);
  EXPECT_EQ(encoder.column("city").vocabulary, (strings{"Bern", "Rome"}));
  EXPECT_EQ(encoder.column("age").fill, 30);
  expect_parts(refused<data_error>([&] { encoder.examples(training()); }),
               {"train.csv, column city, row 4", "one of \"Bern\", \"Rome\"", "other", "got \"Oslo\""});
  table_encoder const one_class(training().select(indices{0, 2}), {.inputs = {"city"}, .target = "income"});
  expect_parts(refused<data_error>([&] {
                 one_class.examples(training().select(indices{0, 1}));
               }),
               {"column city, row 2"});
  data_table const same_city = parse_table("city,income\nRome,high\n", "t");
  expect_parts(refused<data_error>([&] { one_class.examples(same_city); }),
               {"a class is unknown", "t, column income, row 1", "\"low\"", "got \"high\""});
}

TEST(table_encoder, encodes_unknown_and_missing_texts_as_an_additional_category) {
  table_encoder const encoder(training(), {.inputs = {"city"}, .other = true});
  EXPECT_EQ(encoder.column("city").width(), 4);
  data_table const other = parse_table("city,x\nParis,1\n,2\nOslo,3\n", "new.csv", keep);
  EXPECT_EQ(inputs_of(encoder.examples(other)), (values{0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0}));
  expect_parts(refused<data_error>([&] { table_encoder(training(), {.inputs = {"city"}}).examples(other); }),
               {"row 1", "Paris"});
}

/// read_table treats a column without any text as a column of missing numbers.
TEST(table_encoder, accepts_a_table_in_which_all_texts_of_a_column_are_missing) {
  table_encoder const encoder(training(), {.inputs = {"city"}, .target = "income", .other = true});
  data_table const asked = parse_table("city,income\n,\n?,\n", "new.csv", keep);
  EXPECT_EQ(inputs_of(encoder.inputs(asked)), (values{0, 0, 0, 1, 0, 0, 0, 1}));
  expect_parts(refused<data_error>([&] { encoder.examples(asked); }),
               {"a class is unknown", "new.csv, column income, row 1", "got none"});
  expect_parts(refused<data_error>([&] { table_encoder(training(), {.inputs = {"city"}}).inputs(asked); }),
               {"a text is not in the vocabulary", "row 1", "got none"});
  expect_parts(refused<data_error>([&] { encoder.inputs(parse_table("city\n7\n", "new.csv")); }),
               {"contains numbers", "column city", "text_columns"});
}

TEST(table_encoder, refuses_a_training_table_without_rows_or_classes) {
  data_table const none = training().select({});
  EXPECT_EQ(
      refused<data_error>([&] { table_encoder(none, {.target = "income"}); }),
      "the training table of an encoder has no rows (" + none.name() + "): expected at least 1 row, got 0");
  std::vector<std::int64_t> const second{1};
  data_table const unlabelled = parse_table("a,b\n1,x\n2,?\n", "t", keep).select(second);
  expect_parts(refused<data_error>([&] { table_encoder(unlabelled, {.target = "b"}); }),
               {"a target is missing", "column b, row 2", "got none"});
}

TEST(table_encoder, encodes_indexed_columns_as_embedding_indices) {
  table_encoder const encoder(training(), {.inputs = {"job", "age", "city"},
                                           .target = "income",
                                           .indexed = {"city"},
                                           .impute = imputation::mean});
  dataset const data = encoder.examples(training());
  ASSERT_EQ(data.describe().inputs.size(), 2U);
  EXPECT_EQ(data.describe().inputs[1].name, "city");
  EXPECT_EQ(data.describe().inputs[1].example, shape(1));
  EXPECT_EQ(inputs_of(data, 1), (values{2, 0, 2, 1}));
  EXPECT_EQ(inputs_of(data, 0), (values{1, 0, 0, 20, 0, 1, 0, 40, 1, 0, 0, 50, 0, 0, 1, 90}));
  EXPECT_EQ(table_encoder(training(), {.inputs = {"city"}, .indexed = {"city"}})
                .examples(training())
                .describe()
                .inputs.size(),
            1U);
  EXPECT_THROW(table_encoder(training(), {.indexed = {"age"}, .impute = imputation::mean}), setting_error);
  EXPECT_THROW(table_encoder(training(), {.indexed = {"x"}, .impute = imputation::mean}), setting_error);
}

TEST(table_encoder, refuses_numbers_beyond_f32) {
  table_settings const wide{.number_type = element_type::f64};
  table_encoder const encoder(parse_table("x,y\n1,2\n3,4\n", "a.csv", wide),
                              {.target = "y", .regression = true});
  expect_parts(
      refused<data_error>([&] { encoder.examples(parse_table("x,y\n1,2\n1e39,2\n", "b.csv", wide)); }),
      {"out of the range of f32", "b.csv, column x, row 2", "got 1e+39"});
  expect_parts(refused<data_error>([&] { encoder.examples(parse_table("x,y\n1,-1e300\n", "b.csv", wide)); }),
               {"out of the range of f32", "b.csv, column y, row 1", "got -1e+300"});
}

TEST(table_encoder, accepts_numeric_targets) {
  data_table const table = parse_table("a,b\n1,0\n2,2\n", "t");
  table_encoder const classes(table, {.target = "b"});
  EXPECT_EQ(classes.classes(), 3);
  expect_parts(refused<data_error>([&] { classes.examples(parse_table("a,b\n1,3\n", "u")); }),
               {"u, column b, row 1", "0 to 2"});
  dataset const regression = table_encoder(table, {.target = "b", .regression = true}).examples(table);
  loader batches(regression, {.batch = 2, .shuffle = false});
  EXPECT_EQ(batches.next()->target().as<float>()[1], 2);
}

TEST(table_encoder, refuses_invalid_columns) {
  EXPECT_THROW(table_encoder(training(), {.inputs = {"x"}}), setting_error);
  EXPECT_THROW(table_encoder(training(), {.target = "x"}), setting_error);
  EXPECT_THROW(table_encoder(training(), {.inputs = {"city"}, .target = "city"}), setting_error);
  EXPECT_THROW(table_encoder(training(), {.inputs = {"city"}, .target = "income", .regression = true}),
               data_error);
}

TEST(table_encoder, round_trips_through_json) {
  data_table const odd = parse_table("\"a \"\"b\"\"\",n,t\n\"x\ny\",1.1,2\n日本,,1\n", "t", keep);
  for (table_encoder const& encoder :
       {table_encoder(training(), settings),
        table_encoder(odd, {.target = "t", .other = true, .impute = imputation::mean}),
        table_encoder(
            odd, {.target = "t", .regression = true, .indexed = {"a \"b\""}, .impute = imputation::median}),
        table_encoder(training(), {.inputs = {"city", "income"}})}) {
    std::string const text = to_json(encoder);
    table_encoder const restored = from_text(text);
    EXPECT_EQ(restored, encoder);
    data_table const& table = encoder.target() == "t" ? odd : training();
    dataset const a = encoder.examples(table), b = restored.examples(table);
    EXPECT_EQ(inputs_of(a), inputs_of(b));
    EXPECT_EQ(read(a).labels, read(b).labels);
    ASSERT_EQ(a.describe().targets.size(), b.describe().targets.size());
    if (!encoder.target().empty()) {
      EXPECT_EQ(a.describe().targets[0].label_names, b.describe().targets[0].label_names);
    }
  }
}

TEST(table_encoder, refuses_damaged_json) {
  for (char const* const text :
       {"{}", "[]", R"({"columns":[]})", R"({"columns":[{}]})", R"({"columns":[{"name":"a","x":1}]})",
        R"({"columns":[{"name":"a"},{"name":"a"}]})", R"({"columns":[{"name":"a"}],"classes":3})",
        R"({"columns":[{"name":"a","is_text":true,"vocabulary":["b","a"]}]})",
        R"({"columns":[{"name":"a","is_text":true,"vocabulary":["a","a"]}]})",
        R"({"columns":[{"name":"a","is_text":true}]})",
        R"({"columns":[{"name":"a","is_text":true,"vocabulary":["a"],"fill":1}]})",
        R"({"columns":[{"name":"a","vocabulary":["a"]}]})", R"({"columns":[{"name":"a","indexed":true}]})",
        R"({"columns":[{"name":"a"}],"target":"t","classes":3,"label_names":["x"]})",
        R"({"columns":[{"name":"a"}],"target":"t","classes":-1,"label_names":[]})",
        R"({"columns":[{"name":"a"}],"target":"","classes":1,"label_names":[]})"})
    EXPECT_THROW(from_text(text), data_error) << text;
}

}  // namespace table_encoder_test
