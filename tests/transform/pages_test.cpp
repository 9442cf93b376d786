// SPDX-License-Identifier: Apache-2.0
// The program of docs/data.md that transforms rows, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <cohort/data/loader.hpp>
#include <cohort/transform/keyed_sequences.hpp>
#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace transform_page_test
