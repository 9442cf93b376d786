// SPDX-License-Identifier: Apache-2.0
// The inputs of a network have no column names. Without a check, a table with another order of columns, or
// without the steps of the pipeline, would be evaluated with wrong features and without an error.
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/concat.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/prediction/features.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace table_columns_test {

using namespace cohort;
using narrow = reference<float>;

graph regression(int inputs) {
  return graph::build([&](builder& b) {
    return b.input({inputs}) | dense{.units = 1, .name = "sum"} | mean_squared_error{.name = "y"};
  });
}

data_table measured() { return parse_table("x,z,y\n1,5,2\n2,7,1\n3,6,4\n", "a.csv"); }
data_table reordered() { return parse_table("z,x,y\n5,1,2\n7,2,1\n6,3,4\n", "b.csv"); }

arrays examples_of(data_table const& rows, std::vector<std::string> inputs = {}) {
  return rows.examples({.inputs = std::move(inputs), .target = "y", .regression = true});
}

std::string other_order(char const* call, char const* whose = "the training") {
  return std::string("the data set's columns differ from those of ") + whose + " (" + call
         + ", input input): expected x, z, in this order (table_examples::inputs, or a table_encoder), got z, x";
}

TEST(table_columns, must_have_the_order_of_the_training_data) {
  training run = trainer<narrow>(regression(2));
  regression_report report(1);
  run.evaluate(examples_of(reordered()), {&report});  // of a network that has not been trained
  run.fit(examples_of(measured()));
  run.evaluate(examples_of(measured()), {&report});
  dataset const other = examples_of(reordered());
  EXPECT_EQ(refusal_of<data_error>([&] { run.evaluate(other, {&report}); }), other_order("evaluate"));
  EXPECT_EQ(refusal_of<data_error>([&] { run.fit(other); }), other_order("fit"));
  EXPECT_EQ(refusal_of<data_error>([&] { run.fit(examples_of(measured()), {.validation = other}); }),
            other_order("validation"));
  EXPECT_EQ(refusal_of<data_error>([&] { run.normalise(other); }), other_order("normalise"));
  EXPECT_EQ(refusal_of<data_error>([&] { find_learning_rate(run, other); }),
            other_order("find_learning_rate"));
  EXPECT_EQ(refusal_of<data_error>([&] { run.features({"sum"}, other); }), other_order("features"));
  EXPECT_EQ(run.step(), 1);
  run.evaluate(examples_of(reordered(), {"x", "z"}), {&report});  // the same order by name
  std::vector<float> const x{1, 5}, y{2};
  run.evaluate(arrays({array_view{.name = "input", .values = {x.data(), {1, 2}}}},
                      {array_view{.name = "y", .values = {y.data(), {1, 1}}}}),
               {&report});  // an array has no names
}

TEST(table_columns, are_stored_in_models_and_checkpoints) {
  scratch_folder const folder;
  training run = trainer<narrow>(regression(2));
  run.fit(examples_of(measured()));
  run.save(folder / "model");
  save_checkpoint(run, folder / "kept");
  dataset const other = examples_of(reordered());
  regression_report report(1);
  training loaded = load_trained<narrow>(folder / "model");
  EXPECT_EQ(refusal_of<data_error>([&] { loaded.evaluate(other, {&report}); }), other_order("evaluate"));
  EXPECT_EQ(refusal_of<data_error>([&] { loaded.fit(other); }), other_order("fit"));
  loaded.evaluate(examples_of(measured()), {&report});
  training resumed = trainer<narrow>(regression(2));
  ASSERT_TRUE(resume(resumed, folder / "kept"));
  EXPECT_EQ(refusal_of<data_error>([&] { resumed.fit(other); }), other_order("fit"));
  training matching = trainer<narrow>(regression(2));
  matching.load_matching(folder / "model");  // for another task
  matching.fit(other);
}

TEST(table_columns, in_a_damaged_model_are_refused) {
  scratch_folder const folder;
  training const run = trainer<narrow>(regression(2));
  for (char const* const text : {R"([["x"],["z"]])", "7", R"(["x","z"])", "[[1,2]]"}) {
    model_content content(run.network());
    content.add_parameters(run.parameters())
        .add_metadata("data/preparation", std::string(R"({"features":)") + text + '}');
    save_model(folder / "model", content);
    std::string const refusal = refusal_of<data_error>([&] { load_trained<narrow>(folder / "model"); });
    EXPECT_NE(refusal.find("data/preparation"), std::string::npos) << refusal;
  }
}

TEST(table_columns, without_a_header_are_not_compared) {
  training run = trainer<narrow>(regression(2));
  regression_report report(1);
  table_settings const nameless{.header = false};
  data_table const numbers = parse_table("1,5,2\n2,7,1\n", "c.csv", nameless);
  run.fit(numbers.examples({.target = "c2", .regression = true}));
  EXPECT_NO_THROW(run.evaluate(examples_of(reordered()), {&report}));
}

TEST(table_columns, of_encoders_with_different_vocabularies_are_refused) {
  auto const encoder_of = [](char const* other) {
    return table_encoder(
        parse_table(std::string("x,city,y\n1,Rome,2\n2,") + other + ",3\n3,Rome,2\n", "cities.csv"),
        {.target = "y", .regression = true});
  };
  table_encoder const trained = encoder_of("Oslo"), foreign = encoder_of("Bern");
  data_table const rows = parse_table("city,x,y\nRome,1,3\n", "new.csv");
  regression_report report(1);
  training run = trainer<narrow>(regression(3));
  run.fit(trained.examples(rows));
  run.evaluate(trained.examples(rows), {&report});
  EXPECT_EQ(
      refusal_of<data_error>([&] { run.evaluate(foreign.examples(rows), {&report}); }),
      "the data set's columns differ from those of the training (evaluate, input columns): expected x, "
      "city=Oslo, city=Rome, in this order (table_examples::inputs, or a table_encoder), got x, city=Bern, "
      "city=Rome");
  training kept = trainer<narrow>(regression(3));
  kept.keep(trained);
  std::string const refusal = refusal_of<data_error>([&] { kept.fit(foreign.examples(rows)); });
  EXPECT_NE(refusal.find("differ from those of the kept encoder (fit, input columns)"), std::string::npos)
      << refusal;
  kept.fit(trained.examples(rows));
}

TEST(table_columns, of_indexed_texts_are_named_by_the_vocabulary) {
  data_table const rows = parse_table("city,y\nRome,1\nOslo,2\n", "cities.csv");
  table_encoder const encoder(rows, {.target = "y", .regression = true, .indexed = {"city"}, .other = true});
  using names = std::vector<std::string>;
  EXPECT_EQ(encoder.feature_names(), (std::vector<names>{{"city=Oslo", "city=Rome", "city (other)"}}));
  EXPECT_EQ(encoder.examples(rows).describe().inputs[0].feature_names, encoder.feature_names()[0]);
}

TEST(table_columns, of_a_series_must_have_the_order_of_the_training_data) {
  window_settings const how{.length = 2, .targets = {"x"}};
  graph const net = graph::build([](builder& b) {
    return b.input({2, 2}) | flatten{} | dense{.units = 1} | mean_squared_error{.name = "y"};
  });
  auto const windows_of = [&](data_table const& rows, std::vector<std::string> const& columns) {
    return windows(rows.series(columns), how);
  };
  training run = trainer<narrow>(net);
  regression_report report(1);
  run.fit(windows_of(measured(), {"x", "z"}));
  run.evaluate(windows_of(reordered(), {"x", "z"}), {&report});
  std::string const refusal = refusal_of<data_error>([&] {
    run.evaluate(windows_of(reordered(), {"z", "x"}), {&report});
  });
  EXPECT_NE(refusal.find("(evaluate, input window): expected x, z, in this order"), std::string::npos)
      << refusal;
  std::vector<float> const plain{1, 2, 3, 4, 5, 6};
  run.evaluate(windows(time_series(plain, 2), {.length = 2, .targets = {"c0"}}), {&report});
}

TEST(table_columns, of_validation_data_must_have_the_order_of_the_training_data) {
  training run = trainer<narrow>(regression(2));
  dataset const other = reordered().examples({.inputs = {"z", "x"}, .target = "y", .regression = true});
  std::string const refusal =
      refusal_of<data_error>([&] { run.fit(examples_of(measured()), {.validation = other}); });
  EXPECT_NE(refusal.find("(validation, input input): expected x, z, in this order"), std::string::npos)
      << refusal;
}

TEST(table_columns, of_concatenated_data_sets_must_have_the_same_order) {
  std::string const refusal = refusal_of<data_error>([] {
    concat({examples_of(measured()), examples_of(reordered())});
  });
  EXPECT_NE(refusal.find("the data sets have different columns"), std::string::npos) << refusal;
  EXPECT_EQ(concat({examples_of(measured()), examples_of(reordered(), {"x", "z"})}).size(), 6);
}

TEST(table_columns, must_be_equal_on_all_ranks) {
  launch<threads>(2, [](communicator& world) {
    training run = trainer<narrow>(regression(2), world, allreduce{});
    dataset const mine = examples_of(world.rank() == 0 ? measured() : reordered());
    EXPECT_EQ(
        refusal_of<setting_error>([&] { run.fit(mine, {.sharding = sharding::local}); }),
        "the ranks of this run differ (columns of the data set): expected the same value on every rank, "
        "got columns of the data set: x, z on rank 0; z, x on rank 1");
  });
}

fitted_pipeline rescaled_rows() {
  return {
      {.schema = {{{.name = "x"}, {.name = "z"}, {.name = "y"}}}, .steps = {pipeline::normalise{{"x", "z"}}}},
      measured()};
}

TEST(table_columns, of_rows_that_the_pipeline_has_not_transformed_are_refused) {
  fitted_pipeline const prepared = rescaled_rows();
  dataset const raw = examples_of(measured()), ready = examples_of(prepared.apply(measured()));
  regression_report report(1);
  training run = trainer<narrow>(regression(2));
  keep(run, prepared);
  run.fit(ready);
  run.evaluate(ready, {&report});
  auto const sentence = [](std::string const& call) {
    return "the rows are not prepared by the pipeline of the model (" + call
           + ", input): expected kept_pipeline(run)->apply(rows) of cohort/transform/keep_pipeline.hpp, got rows as "
             "in a file";
  };
  EXPECT_EQ(refusal_of<setting_error>([&] { run.evaluate(raw, {&report}); }), sentence("evaluate"));
  EXPECT_EQ(refusal_of<setting_error>([&] { run.fit(raw); }), sentence("fit"));
  EXPECT_EQ(refusal_of<setting_error>([&] { run.fit(ready, {.validation = raw}); }), sentence("validation"));
  EXPECT_EQ(refusal_of<setting_error>([&] { run.features({"sum"}, raw); }), sentence("features"));
  scratch_folder const folder;
  run.save(folder / "model");
  training loaded = load_trained<narrow>(folder / "model");
  EXPECT_EQ(refusal_of<setting_error>([&] { loaded.evaluate(raw, {&report}); }), sentence("evaluate"));
  loaded.evaluate(ready, {&report});

  table_encoder const encoder(prepared.apply(measured()), {.target = "y", .regression = true});
  EXPECT_EQ(refusal_of<setting_error>([&] { run.evaluate(encoder.examples(measured()), {&report}); }),
            "the rows are not prepared by the pipeline of the model (evaluate, columns): expected "
            "kept_pipeline(run)->apply(rows) of cohort/transform/keep_pipeline.hpp, got rows as in a file");
  run.evaluate(encoder.examples(prepared.apply(measured())), {&report});
  data_table const rows = prepared.apply(measured());
  auto const prepared_in = [](time_series const& series) {
    return windows(series, {.length = 1, .targets = {"x"}}).describe().inputs[0].pipeline;
  };
  EXPECT_EQ(prepared_in(rows.series({"x", "z"})), prepared.fingerprint());
  EXPECT_EQ(prepared_in(measured().series({"x", "z"})), 0u);
}

TEST(table_columns, of_rows_that_another_pipeline_has_transformed_are_refused) {
  fitted_pipeline const prepared = rescaled_rows();
  fitted_pipeline const other(
      {.schema = prepared.description().schema, .steps = {pipeline::normalise{{"x"}}}}, measured());
  training run = trainer<narrow>(regression(2));
  keep(run, prepared);
  run.fit(examples_of(prepared.apply(measured())));
  regression_report report(1);
  std::string const what = "the rows are prepared by a pipeline that is not the model's";
  EXPECT_EQ(refusal_of<setting_error>([&] {
              run.evaluate(examples_of(other.apply(measured())), {&report});
            }).substr(0, what.size()),
            what);
  EXPECT_EQ(refusal_of<setting_error>([&] { run.predict(other.apply(measured())); }).substr(0, what.size()),
            what);
  EXPECT_EQ(run.predict(prepared.apply(measured())).values, run.predict(measured()).values);
  EXPECT_THROW(concat({examples_of(prepared.apply(measured())), examples_of(other.apply(measured()))}),
               error);
}

/// Columns without names are c0, c1, ….
TEST(table_columns, without_names_must_have_the_order_of_the_training_data_and_be_transformed) {
  std::string const text = "1,5,2\n2,3,4\n4,4,8\n";
  data_table const rows = parse_table(text, "a.csv", {.header = false});
  auto const examples = [](data_table const& of, std::vector<std::string> const& inputs) {
    return of.examples({.inputs = inputs, .target = "c2", .regression = true});
  };
  training run = trainer<narrow>(regression(2));
  run.fit(examples(rows, {"c0", "c1"}));
  regression_report report(1);
  run.evaluate(examples(rows, {"c0", "c1"}), {&report});
  EXPECT_NE(refusal_of<data_error>([&] {
              run.evaluate(examples(rows, {"c1", "c0"}), {&report});
            }).find("expected c0, c1, in this order"),
            std::string::npos);
  EXPECT_EQ(run.predict(rows).values.size(), 3u);
  keep(run, fitted_pipeline({.schema = {{{.name = "c0"}, {.name = "c1"}, {.name = "c2"}}},
                             .steps = {pipeline::normalise{{"c0", "c1"}}}},
                            rows));
  EXPECT_NE(refusal_of<setting_error>([&] {
              run.evaluate(examples(rows, {"c0", "c1"}), {&report});
            }).find("got rows as in a file"),
            std::string::npos);
}

}  // namespace table_columns_test
