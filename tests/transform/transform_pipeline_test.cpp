// SPDX-License-Identifier: Apache-2.0
#include <cohort/transform/transform_pipeline.hpp>
#include <limits>

#include "../data/refused.hpp"

namespace transform_pipeline_test {

using namespace cohort;

transform_pipeline const everything{
    .schema = {{{.name = "id", .type = column_type::text, .required = true},
                {.name = "age", .type = column_type::integer, .lowest = 0, .highest = 130},
                {.name = "income"},
                {.name = "city", .type = column_type::text},
                {.name = "size", .type = column_type::category, .values = {"small", "large"}},
                {.name = "when", .type = column_type::time},
                {.name = "answer", .type = column_type::text, .optional = true}}},
    .steps = {
        pipeline::filter{"age >= 18"}, pipeline::derive{"hour", "hour(when)"},
        pipeline::impute{.columns = {"income"}, .with = pipeline::replacement::median},
        pipeline::impute{.columns = {"city"}, .with = pipeline::replacement::constant, .text = "none"},
        pipeline::categories{.columns = {"city", "answer"}, .other = "other"}, pipeline::one_hot{{"city"}},
        pipeline::index{{"size"}}, pipeline::normalise{{"income", "hour"}, rescaling::min_max},
        pipeline::rename{"answer", "target"}, pipeline::drop{{"age"}},
        pipeline::keep{{"id", "when", "income", "hour", "target"}}, pipeline::group_by_key{{"id"}, "when"},
        pipeline::windows{.length = 3, .stride = 2, .partial = true}}};

TEST(transform_pipeline, round_trips_through_json) {
  everything.check();
  std::string const text = to_json(everything);
  EXPECT_EQ(transform_pipeline::from_json(text), everything);
  EXPECT_EQ(to_json(transform_pipeline::from_json(text)), text);
  EXPECT_NE(text.find(R"({"normalise": {"columns": ["income", "hour"], "how": "min_max"}})"),
            std::string::npos)
      << text;
}

TEST(transform_pipeline, reads_more_than_a_million_values) {
  transform_pipeline many{.schema = {{{.name = "c", .type = column_type::category}}}, .steps = {}};
  for (int k = 0; k < 1'000'001; ++k) many.schema.columns[0].values.push_back(std::to_string(k));
  EXPECT_EQ(transform_pipeline::from_json(to_json(many)), many);
}

TEST(transform_pipeline, uses_defaults_for_fields_missing_in_the_json) {
  transform_pipeline const read = transform_pipeline::from_json(
      R"({"$schema": "x", "version": 1, "schema": [{"name": "a"}], "steps": [{"impute": {"columns": ["a"]}}]})");
  EXPECT_EQ(read,
            (transform_pipeline{.schema = {{{.name = "a"}}}, .steps = {pipeline::impute{.columns = {"a"}}}}));
}

TEST(transform_pipeline, reports_the_position_of_a_mistake_in_the_json) {
  auto const refusal_of = [](std::string const& text) {
    return refused<data_error>([&] { transform_pipeline::from_json(text, "p.json"); });
  };
  auto const with_step = [](std::string const& step) {
    return R"({"version": 1, "schema": [{"name": "a"}], "steps": [)" + step + "]}";
  };
  auto const with_column = [](std::string const& column) {
    return R"({"version": 1, "schema": [)" + column + R"(], "steps": []})";
  };
  expect_parts(refusal_of("[]"), {"p.json", "an object"});
  expect_parts(refusal_of(R"({"schema": [], "steps": []})"), {"version"});
  expect_parts(refusal_of(R"({"version": 2, "schema": [], "steps": []})"),
               {"$.version", "version 1", "got 2"});
  expect_parts(refusal_of(R"({"version": 1, "schema": [], "step": []})"),
               {"$.step", "the nearest name is steps"});
  expect_parts(refusal_of(R"({"version": 1, "schema": {}, "steps": []})"), {"$.schema", "a list"});
  expect_parts(refusal_of(with_column(R"({"type": "number"})")), {"$.schema[0]", "name"});
  expect_parts(refusal_of(with_column(R"({"name": "a", "type": "float"})")),
               {"$.schema[0].type", "one of the types"});
  expect_parts(refusal_of(with_column(R"({"name": "a", "lowset": 1})")), {"$.schema[0].lowset", "lowest"});
  expect_parts(refusal_of(with_step(R"({"normalize": {}})")),
               {"$.steps[0]", "the nearest name is normalise"});
  expect_parts(refusal_of(with_step("7")), {"$.steps[0]", "an object with one field"});
  expect_parts(refusal_of(with_step(R"({"drop": 1})")), {"$.steps[0].drop", "an object"});
  expect_parts(refusal_of(with_step(R"({"drop": {"columns": "a"}})")), {"$.steps[0].drop.columns", "a list"});
  expect_parts(refusal_of(with_step(R"({"drop": {"colums": ["a"]}})")),
               {"$.steps[0].drop.colums", "columns"});
  expect_parts(refusal_of(with_step(R"({"windows": {"length": -1}})")), {"$.steps[0].windows.length"});
  expect_parts(refusal_of(with_step(R"({"impute": {"columns": ["a"], "with": "average"}})")),
               {"$.steps[0].impute.with", "one of the replacements mean, median, most_frequent, constant"});
}

std::string refusal_of_steps(std::vector<transform_step> steps) {
  return refused<setting_error>([&] { transform_pipeline{everything.schema, std::move(steps)}.check(); });
}

TEST(transform_pipeline, refuses_steps_with_invalid_columns) {
  using enum pipeline::replacement;
  EXPECT_EQ(refusal_of_steps({pipeline::drop{{"agee"}}}),
            "a step names a column that does not exist (steps[0], drop): expected one of id, age, income, "
            "city, size, when, "
            "answer; the nearest name is age, got \"agee\"");
  expect_parts(refusal_of_steps({pipeline::drop{{"age"}}, pipeline::filter{"age > 1"}}),
               {"steps[1], filter", "\"age\""});
  expect_parts(refusal_of_steps({pipeline::rename{"age", "years"}, pipeline::normalise{{"age"}}}),
               {"steps[1], normalise"});
  expect_parts(refusal_of_steps({pipeline::keep{{"age"}}, pipeline::drop{{"city"}}}), {"steps[1], drop"});
  expect_parts(refusal_of_steps({pipeline::filter{"age"}}),
               {"the condition of a filter is not true or false"});
  expect_parts(refusal_of_steps({pipeline::normalise{{"city"}}}),
               {"steps[0], normalise, column city", "got type text"});
  expect_parts(refusal_of_steps({pipeline::one_hot{{"city"}}}),
               {"a category (the step categories makes one", "got type text"});
  expect_parts(refusal_of_steps({pipeline::index{{"age"}}}), {"a category", "got type integer"});
  expect_parts(refusal_of_steps({pipeline::categories{.columns = {"age"}}}),
               {"a category or a text", "got type integer"});
  expect_parts(refusal_of_steps({pipeline::impute{.columns = {"city"}}}),
               {"most_frequent or constant for texts"});
  expect_parts(refusal_of_steps({pipeline::impute{.columns = {"city"}, .with = constant}}),
               {"a text as the constant"});
  expect_parts(refusal_of_steps({pipeline::impute{.columns = {"size"}, .with = constant, .text = "huge"}}),
               {"one of the values of the category", "got \"huge\""});
  expect_parts(refusal_of_steps({pipeline::impute{
                   .columns = {"age"}, .with = constant, .number = std::numeric_limits<double>::infinity()}}),
               {"steps[0], impute, number", "a finite number"});
  expect_parts(refusal_of_steps({pipeline::rename{"age", "city"}}), {"a name that no column has"});
  expect_parts(refusal_of_steps({pipeline::derive{"size=small", "1"}, pipeline::one_hot{{"size"}}}),
               {"column size=small", "a name that no column has"});
  expect_parts(refusal_of_steps({pipeline::group_by_key{{"income"}, "when"}}),
               {"as the key", "got type number"});
  expect_parts(refusal_of_steps({pipeline::group_by_key{{"id"}, "city"}}), {"as the order", "got type text"});
}

TEST(transform_pipeline, refuses_malformed_steps) {
  expect_parts(refusal_of_steps({pipeline::drop{}}), {"steps[0], drop, columns", "at least 1 column"});
  expect_parts(refusal_of_steps({pipeline::drop{{"age", "age"}}}), {"different columns", "\"age\" twice"});
  expect_parts(refusal_of_steps({pipeline::keep{{""}}}), {"the name of a column"});
  expect_parts(refusal_of_steps({pipeline::derive{"", "1"}}), {"steps[0], derive, column"});
  expect_parts(refusal_of_steps({pipeline::derive{"x", "1 +"}}), {"steps[0], derive, character 4"});
  expect_parts(refusal_of_steps({pipeline::rename{"age", ""}}), {"steps[0], rename, to"});
  expect_parts(refusal_of_steps({pipeline::group_by_key{{"id"}, "id"}}),
               {"order", "a column that is no key"});
  expect_parts(refusal_of_steps({pipeline::windows{.length = 2}}),
               {"group_by_key as the step before", "got no step"});
  expect_parts(refusal_of_steps({pipeline::group_by_key{{"id"}}, pipeline::drop{{"age"}}}),
               {"and no further step", "got drop"});
  expect_parts(refusal_of_steps({pipeline::group_by_key{{"id"}}, pipeline::windows{.length = 0}}),
               {"length", "at least 1"});
  expect_parts(
      refusal_of_steps({pipeline::group_by_key{{"id"}}, pipeline::windows{.length = 1, .stride = 0}}),
      {"stride"});
  expect_parts(refusal_of_steps({pipeline::group_by_key{{"id"}}, pipeline::windows{.length = 1},
                                 pipeline::windows{.length = 1}}),
               {"steps[2]", "group_by_key as the step before"});
}

TEST(transform_pipeline, accepts_one_hot_columns_before_the_fit) {
  transform_pipeline how{
      everything.schema,
      {pipeline::categories{.columns = {"city"}}, pipeline::one_hot{{"city"}},
       pipeline::derive{"roman", "`city=Rome` == 1 and age > 3"}, pipeline::drop{{"city=Bern"}},
       pipeline::normalise{{"age"}}, pipeline::keep{{"age", "roman", "city=Rome"}}}};
  how.check();
  how.steps.push_back(pipeline::drop{{"income"}});
  expect_parts(refused<setting_error>([&] { how.check(); }), {"steps[6], drop"});
}

}  // namespace transform_pipeline_test
