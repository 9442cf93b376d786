// SPDX-License-Identifier: Apache-2.0
// The program of docs/data.md that transforms rows, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/data/loader.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/transform/keyed_sequences.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace transform_page_test {

TEST(docs_transform, the_program_prepares_rows) {
  std::string const folder = testing::TempDir() + "cohort-transform-page";
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  for (char const* name : {"part1.csv", "part2.csv", "held_out.csv"})
    std::ofstream(name)
        << "age,height,weight,city,answer\n30,180,80,Rome,yes\n17,150,40,Oslo,no\n50,,70,Bern,no\n";
  // clang-format off
cohort::transform_pipeline const how{
    .schema = {{{.name = "age", .type = cohort::column_type::integer, .lowest = 0, .highest = 130},
                {.name = "height"}, {.name = "weight", .lowest = 0},
                {.name = "city", .type = cohort::column_type::text},
                {.name = "answer", .type = cohort::column_type::category, .values = {"no", "yes"}, .optional = true}}},
    .steps = {cohort::pipeline::filter{"age >= 18"},
              cohort::pipeline::derive{"bmi", "weight / pow(height / 100, 2)"},
              cohort::pipeline::impute{.columns = {"bmi", "height", "weight"}},
              cohort::pipeline::categories{.columns = {"city"}, .other = "other"},
              cohort::pipeline::one_hot{{"city"}},
              cohort::pipeline::normalise{{"age", "height", "weight", "bmi"}}}};
cohort::fitted_pipeline const prepared(how, cohort::pieces_of({"part1.csv", "part2.csv"}, how.schema));
cohort::data_table const held_out = prepared.apply(cohort::read_table("held_out.csv", format_of(how.schema)));
cohort::dataset const examples = held_out.examples({.target = "answer"});
  // clang-format on
  EXPECT_EQ(examples.size(), 2);
  EXPECT_EQ(examples.describe().inputs[0].example,
            cohort::shape(7));  // age, height, weight, three cities, bmi
  EXPECT_EQ(examples.describe().targets[0].label_names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_DOUBLE_EQ(prepared.learned(2)[0].number,
                   80 / 3.24);  // the mean of the body mass indices of grown-ups
  std::filesystem::current_path(testing::TempDir());
  std::filesystem::remove_all(folder);
}

TEST(docs_transform, rows_with_a_target_are_selected) {
  cohort::data_table const cars = cohort::parse_table("price,power\n9000,55\n,70\n12500,\n", "cars.csv",
                                                      {.missing = cohort::missing_values::keep});
  std::vector<std::int64_t> with_target;
  for (int row = 0; row < cars.rows(); ++row)
    if (!std::isnan(cars.numbers("price")[static_cast<std::size_t>(row)])) with_target.push_back(row);
  cohort::data_table const priced = cars.select(with_target);
  ASSERT_EQ(priced.rows(), 2);
  EXPECT_EQ(priced.row_number(1), 3);
  EXPECT_TRUE(std::isnan(priced.numbers("power")[1]));
}

}  // namespace transform_page_test
