// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/csv.hpp>
#include <cohort/data/loader.hpp>

#include "refused.hpp"

namespace csv_test {

std::string refusal_of(std::string_view text, cohort::csv_settings settings = {}) {
  return refused<cohort::data_error>([&] { cohort::parse_csv(text, "t.csv", settings); });
}

std::vector<float> inputs_of(cohort::arrays const& data) {
  cohort::loader loader(data, {.batch = 100, .shuffle = false});
  auto const values = loader.next()->input().as<float>();
  return {values.begin(), values.end()};
}

TEST(csv, reads_inputs_and_the_label_in_the_last_column) {
  cohort::arrays const data = cohort::parse_csv("1,2.5,0\n-3e1, +4 ,2\r\n\n5,6,1", "t.csv");
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.describe().inputs[0].example, cohort::shape(2));
  EXPECT_EQ(data.describe().targets[0].classes, 3);
  EXPECT_EQ(inputs_of(data), (std::vector<float>{1, 2.5F, -30, 4, 5, 6}));
  cohort::loader loader(data, {.batch = 3, .shuffle = false});
  EXPECT_EQ(loader.next()->target().as<std::int32_t>()[1], 2);
}

TEST(csv, accepts_another_column_separator_and_a_header) {
  cohort::csv_settings const settings{.separator = ';', .header = true, .label_column = 0, .classes = 7};
  cohort::arrays const data = cohort::parse_csv("label;x;y\n3;1;2\n", "t.csv", settings);
  EXPECT_EQ(inputs_of(data), (std::vector<float>{1, 2}));
  EXPECT_EQ(data.describe().targets[0].classes, 7);
}

TEST(csv, reads_regression_targets_or_no_label) {
  EXPECT_EQ(cohort::parse_csv("1,0.5\n", "t", {.regression = true}).describe().targets[0].type,
            cohort::element_type::f32);
  cohort::arrays const plain = cohort::parse_csv("1,2\n", "t", {.label_column = std::nullopt});
  EXPECT_TRUE(plain.describe().targets.empty());
  EXPECT_EQ(inputs_of(plain), (std::vector<float>{1, 2}));
}

TEST(csv, reads_a_file_and_names_it) {
  std::string const path = fresh_path("t.csv");
  std::ofstream(path) << "1,0\nx,1\n";
  expect_parts(refused<cohort::data_error>([&] { cohort::read_csv(path); }),
               {(path + ":2:1").c_str(), "\"x\""});
}

TEST(csv, refuses_ragged_rows) {
  expect_parts(refusal_of("1,2,0\n1,0\n"), {"t.csv:2:3", "3 columns", "got 2"});
  expect_parts(refusal_of("a,b,c\n1,2,0,0\n", {.header = true}), {"t.csv:2:4", "3 columns", "got 4"});
}

TEST(csv, refuses_fields_that_are_not_finite_numbers) {
  for (char const* field : {"nan", "inf", "1e99", "", "1x", "+-1", "0x10", "\"1\""})
    expect_parts(refusal_of("1,1,0\n1," + std::string(field) + ",0\n"), {"t.csv:2:2", "a finite number"});
}

TEST(csv, suggests_the_header_setting_for_a_first_row_of_names) {
  expect_parts(refusal_of("length,width,kind\n1,2,0\n"), {"t.csv:1:1", ".header = true", "\"length\""});
  EXPECT_EQ(refusal_of("1,2,0\nx,2,0\n").find(".header"), std::string::npos);
}

TEST(csv, refuses_labels_out_of_range) {
  expect_parts(refusal_of("1,0\n1,3\n", {.classes = 3}), {"t.csv:2:2", "0 to 2", "\"3\""});
  for (char const* label : {"-1", "1.0", "99999999999", ""})
    expect_parts(refusal_of("1," + std::string(label) + "\n"), {"t.csv:1:2", "class label"});
}

TEST(csv, refuses_texts_without_rows_or_without_that_column) {
  expect_parts(refusal_of(""), {"no rows"});
  expect_parts(refusal_of("a,b\n", {.header = true}), {"no rows"});
  for (int column : {2, -3})
    expect_parts(
        refused<cohort::setting_error>([&] { cohort::parse_csv("1,2\n", "t", {.label_column = column}); }),
        {"2 columns"});
}

}  // namespace csv_test
