// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/prediction/features.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/detail/data_preparation.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include "../checkpoint/scratch_folder.hpp"

namespace keep_pipeline_test {

using namespace cohort;
using narrow = reference<float>;

constexpr auto small =
    network<[](builder& net) { return net.input({3}) | dense{.units = 2} | softmax_cross_entropy{}; }>();

fitted_pipeline pipeline_of_rows() {
  transform_pipeline const how{.schema = {{{.name = "x"}, {.name = "kind", .type = column_type::text}}},
                               .steps = {pipeline::normalise{{"x"}}}};
  return {how, parse_table("x,kind\n1,a\n4,b\n", "rows.csv", format_of(how.schema))};
}

TEST(keep_pipeline, stores_the_pipeline_in_models_and_checkpoints) {
  scratch_folder const folder;
  training run = trainer<narrow>(small);
  EXPECT_FALSE(kept_pipeline(run));
  keep(run, pipeline_of_rows());
  EXPECT_EQ(kept_pipeline(run).value(), pipeline_of_rows());
  run.save(folder / "model");
  EXPECT_EQ(pipeline_in(model_file::open(folder / "model")).value(), pipeline_of_rows());
  EXPECT_EQ(kept_pipeline(load_trained<narrow>(folder / "model")).value(), pipeline_of_rows());
  save_checkpoint(run, folder / "kept");
  training resumed = trainer<narrow>(small);
  ASSERT_TRUE(resume(resumed, folder / "kept"));
  EXPECT_EQ(kept_pipeline(resumed).value(), pipeline_of_rows());

  training other = trainer<narrow>(small);
  load_parameters(other, model_file::open(folder / "model"));
  EXPECT_EQ(kept_pipeline(other).value(), pipeline_of_rows());
  trainer<narrow>(small).save(folder / "plain");
  EXPECT_FALSE(pipeline_in(model_file::open(folder / "plain")));
  load_parameters(other, model_file::open(folder / "plain"));
  EXPECT_FALSE(kept_pipeline(other));
}

constexpr auto column =
    network<[](builder& net) { return net.input({1}) | dense{.units = 2} | softmax_cross_entropy{}; }>();

TEST(keep_pipeline, predict_applies_pipeline_and_encoder_to_rows_as_in_a_file) {
  training run = trainer<narrow>(column);
  fitted_pipeline const prepared = pipeline_of_rows();
  data_table const raw =
      parse_table("x,kind\n1,a\n4,b\n", "rows.csv", format_of(prepared.description().schema));
  data_table const ready = prepared.apply(raw);
  run.keep(table_encoder(ready, {.target = "kind"}));
  predictions const unprepared = run.predict(raw), expected = run.predict(ready);
  EXPECT_NE(unprepared.values, expected.values);
  keep(run, prepared);
  EXPECT_EQ(run.predict(raw).values, expected.values);
  EXPECT_EQ(run.predict(ready).values, expected.values);
  std::int64_t const second = 1;
  EXPECT_EQ(run.predict(ready.select({&second, 1})).count(), 1);
}

/// Numbers after a filter, and the classes of the rows.
fitted_pipeline filtered_rows() {
  transform_pipeline const how{
      .schema = {{{.name = "x"}, {.name = "kind", .type = column_type::category, .values = {"a", "b"}}}},
      .steps = {pipeline::filter{"x > 0"}, pipeline::normalise{{"x"}}}};
  return {how, parse_table("x,kind\n1,a\n0.1,b\n-3,a\n", "rows.csv", format_of(how.schema))};
}

data_table measured(std::string const& text) {
  fitted_pipeline const prepared = filtered_rows();
  return parse_table(text, "new.csv", format_of(prepared.description().schema));
}

TEST(keep_pipeline, predict_needs_no_encoder_for_the_columns_of_the_last_fit) {
  scratch_folder const folder;
  data_table const raw = measured("x,kind\n0.7,a\n0.3,b\n");
  dataset const examples = filtered_rows().apply(raw).examples({.target = "kind"});
  training run = trainer<narrow>(column);
  keep(run, filtered_rows());
  EXPECT_THROW(run.predict(raw), setting_error);
  run.normalise(examples);
  run.fit(examples, {.batch = 2});
  feature_set const expected = run.features({}, examples);
  predictions const answers = run.predict(raw);
  ASSERT_EQ(answers.count(), 2);
  dataset const outputs(expected);
  loader batches(outputs, {.batch = 2, .shuffle = false});
  std::span<float const> const in_batches = batches.next()->input().as<float>();
  for (std::size_t i = 0; i < in_batches.size(); ++i)
    EXPECT_EQ(static_cast<float>(answers.values[i]), in_batches[i]) << i;
  run.save(folder / "model");
  EXPECT_EQ(load_trained<narrow>(folder / "model").predict(raw).values, answers.values);
}

TEST(keep_pipeline, predict_refuses_rows_that_a_filter_removes) {
  training run = trainer<narrow>(column);
  keep(run, filtered_rows());
  try {
    run.predict(measured("x,kind\n0.7,a\n-2,b\n0.1,b\n"));
    FAIL() << "predictions and rows differ in number";
  } catch (data_error const& refusal) {
    EXPECT_EQ(
        std::string(refusal.what()),
        "a filter of the kept pipeline removes a row (new.csv, row 2): expected rows that pass the filters; "
        "kept_pipeline(run)->apply(rows) returns those that do, got 2 of 3 rows");
  }
}

TEST(keep_pipeline, predict_names_the_target_that_a_filter_reads_if_the_rows_lack_it) {
  transform_pipeline const how{.schema = {{{.name = "x"}, {.name = "kind", .optional = true}}},
                               .steps = {pipeline::filter{"kind >= 0"}}};
  fitted_pipeline const fitted(how,
                               parse_table("x,kind\n1,0\n2,1\n3,-1\n", "rows.csv", format_of(how.schema)));
  training run = trainer<narrow>(column);
  keep(run, fitted);
  run.keep(table_encoder(fitted.apply(parse_table("x,kind\n1,0\n2,1\n", "rows.csv", format_of(how.schema))),
                         {.target = "kind"}));
  data_table const rows = parse_table("x\n1\n", "new.csv", format_of(how.schema));
  try {
    run.predict(rows);
    FAIL() << "the row was removed";
  } catch (data_error const& refusal) {
    EXPECT_NE(std::string(refusal.what())
                  .find("a pipeline whose filters do not read \"kind\", which these rows "
                        "lack: select the training rows by data_table::select instead"),
              std::string::npos)
        << refusal.what();
  }
}

TEST(keep_pipeline, a_program_without_the_component_saves_models_but_refuses_raw_rows) {
  scratch_folder const folder;
  training run = trainer<narrow>(column);
  keep(run, pipeline_of_rows());
  run.save(folder / "model");
  auto* const reader = std::exchange(detail::read_row_pipeline, nullptr);
  training loaded = load_trained<narrow>(folder / "model");
  loaded.save(folder / "again");
  fitted_pipeline const pipeline = pipeline_of_rows();
  data_table const rows = parse_table("x,kind\n1,a\n", "rows.csv", format_of(pipeline.description().schema));
  try {
    loaded.predict(rows);
    FAIL() << "the rows are not prepared";
  } catch (setting_error const& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("keep_pipeline.hpp"), std::string::npos) << refusal.what();
  }
  detail::read_row_pipeline = reader;  // as if a shared library with the component were loaded now
  EXPECT_EQ(pipeline_in(model_file::open(folder / "again")).value(), pipeline_of_rows());
  EXPECT_EQ(kept_pipeline(loaded).value(), pipeline_of_rows());
  training known = load_trained<narrow>(folder / "model");
  data_table const ready = pipeline.apply(rows);
  for (training* const each : {&loaded, &known}) each->keep(table_encoder(ready, {.target = "kind"}));
  EXPECT_EQ(loaded.predict(rows).values, known.predict(rows).values);
}

TEST(keep_pipeline, reports_the_file_of_a_damaged_pipeline) {
  scratch_folder const folder;
  training const run = trainer<narrow>(small);
  model_content content(run.network());
  content.add_parameters(run.parameters()).add_metadata("data/pipeline", R"({"version": 1, "schema": []})");
  save_model(folder / "model", content);
  for (auto const& read : {std::function<void()>([&] { pipeline_in(model_file::open(folder / "model")); }),
                           std::function<void()>([&] { load_trained<narrow>(folder / "model"); })})
    try {
      read();
      FAIL() << "expected data_error";
    } catch (data_error const& problem) {
      EXPECT_NE(std::string(problem.what()).find(folder / "model" + ", data/pipeline"), std::string::npos)
          << problem.what();
    }
}

}  // namespace keep_pipeline_test
