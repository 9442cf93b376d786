// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <string>
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

TEST(keep_pipeline, is_part_of_models_and_checkpoints) {
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

TEST(keep_pipeline, refuses_to_predict_rows_without_the_steps_of_the_pipeline) {
  training run = trainer<narrow>(
      network<[](builder& net) { return net.input({1}) | dense{.units = 2} | softmax_cross_entropy{}; }>());
  fitted_pipeline const prepared = pipeline_of_rows();
  data_table const raw =
      parse_table("x,kind\n1,a\n4,b\n", "rows.csv", format_of(prepared.description().schema));
  run.keep(table_encoder(prepared.apply(raw), {.target = "kind"}));
  EXPECT_EQ(run.predict(raw).count(), 2);  // no pipeline is kept
  keep(run, prepared);
  try {
    run.predict(raw);
    FAIL() << "rows that the pipeline has not prepared are accepted";
  } catch (setting_error const& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("kept_pipeline(run)->apply(rows)"), std::string::npos)
        << refusal.what();
  }
  std::int64_t const second = 1;
  EXPECT_EQ(run.predict(prepared.apply(raw)).count(), 2);
  EXPECT_EQ(run.predict(prepared.apply(raw).select({&second, 1})).count(), 1);
}

TEST(keep_pipeline, names_the_file_of_a_damaged_pipeline) {
  scratch_folder const folder;
  training const run = trainer<narrow>(small);
  model_content content(run.network());
  content.add_parameters(run.parameters()).add_metadata("data/pipeline", R"({"version": 1, "schema": []})");
  save_model(folder / "model", content);
  try {
    pipeline_in(model_file::open(folder / "model"));
    FAIL() << "expected data_error";
  } catch (data_error const& problem) {
    EXPECT_NE(std::string(problem.what()).find(folder / "model" + ", data/pipeline"), std::string::npos)
        << problem.what();
  }
}

}  // namespace keep_pipeline_test
