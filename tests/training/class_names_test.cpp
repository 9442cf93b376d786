// SPDX-License-Identifier: Apache-2.0
// Class labels are numbers: the examples of a data set with other class names would be counted for wrong
// classes.
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace class_names_test {

using namespace cohort;
using narrow = reference<float>;

training classifier(int classes, training_settings settings = {}) {
  return trainer<narrow>(graph::build([&](builder& b) {
                           return b.input({1}) | dense{.units = classes}
                                  | softmax_cross_entropy{.name = "kind"};
                         }),
                         std::move(settings));
}

data_table table_of(std::string const& rows) { return parse_table("x,kind\n" + rows, "flowers"); }
dataset examples_of(std::string const& rows) { return table_of(rows).examples({.target = "kind"}); }

dataset three() { return examples_of("1,lily\n2,rose\n3,tulip\n"); }
dataset two() { return examples_of("1,lily\n3,tulip\n"); }
dataset two_of_three() { return select(three(), {0, 2}); }

TEST(class_names, of_validation_data_must_equal_the_names_of_the_training_data) {
  training run = classifier(3);
  EXPECT_EQ(refusal_of<data_error>(
                [&] { run.fit(three(), {.validation = examples_of("1,lily\n2,rose\n3,violet\n")}); }),
            "the data set's classes have other names than those of the training (validation, target kind): "
            "expected "
            "lily, rose, tulip, got lily, rose, violet");
  EXPECT_EQ(run.step(), 0);
  run.fit(three(), {.validation = two_of_three()});
  EXPECT_EQ(run.step(), 1);
}

TEST(class_labels, that_begin_at_1_are_reported_as_a_possible_cause) {
  std::vector<float> const x{1, 2, 3};
  std::vector<std::int32_t> const labels{1, 2, 3};
  training run = classifier(3);
  EXPECT_EQ(
      refusal_of<shape_error>([&] { run.fit(arrays(x, {1}, labels, 4)); }),
      "the data set has more classes than the network (kind): expected at most 3, got 4; no example has "
      "class 0: if the labels begin at 1, subtract 1, or read the column as texts (text_columns)");
  EXPECT_EQ(
      refusal_of<data_error>([&] { run.fit(arrays(x, {1}, labels, 3)); }),
      "a class label is out of range (label, example 2): expected 0 to 2, got 3; no example has class 0: "
      "if the labels begin at 1, subtract 1");
  std::vector<std::string> notices;
  data_table const table = parse_table("x,y\n1,1\n2,2\n3,3\n", "t.csv");
  table_encoder const encoder(
      table, {.target = "y", .log = [&](std::string_view line) { notices.emplace_back(line); }});
  EXPECT_EQ(notices,
            (std::vector<std::string>{"t.csv, column y: no row has class 0; if the labels begin at 1, "
                                      "subtract 1, or read the column as texts (text_columns)"}));
}

TEST(class_names, must_be_as_many_as_outputs_of_the_network) {
  training run = classifier(16);
  EXPECT_EQ(refusal_of<shape_error>([&] { run.fit(three()); }),
            "the data set has fewer classes than the network has outputs (kind): expected 16 named classes, "
            "got 3: lily, "
            "rose, tulip");
  training fits = classifier(3);
  EXPECT_EQ(refusal_of<shape_error>([&] { fits.evaluate(two()); }),
            "the data set has fewer classes than the network has outputs (kind): expected 3 named classes, "
            "got 2: lily, "
            "tulip");
  std::vector<float> const x{1, 2, 3};
  std::vector<std::int32_t> const numbered{0, 1, 2};
  run.fit(arrays(x, {1}, numbered, 3));  // without names, a part of the classes may be present
  EXPECT_EQ(run.step(), 1);
}

TEST(class_names, of_evaluated_data_must_equal_the_names_of_the_last_fit) {
  training run = classifier(3);
  dataset const others = examples_of("1,daisy\n2,lily\n3,rose\n");
  run.evaluate(others);  // of a network that has not been trained
  run.fit(three());
  run.evaluate(two_of_three());
  EXPECT_EQ(
      refusal_of<data_error>([&] { run.evaluate(others); }),
      "the data set's classes have other names than those of the training (evaluate, target kind): expected "
      "lily, rose, tulip, got daisy, lily, rose");
  run.fit(others);
  EXPECT_EQ(run.evaluate(others).examples(), 3);
}

TEST(class_names, must_equal_the_names_of_the_kept_encoder) {
  scratch_folder const folder;
  table_encoder const encoder(table_of("1,lily\n2,rose\n3,tulip\n"), {.target = "kind"});
  dataset const others = examples_of("1,daisy\n2,lily\n3,rose\n");
  training run = classifier(3);
  run.keep(encoder);
  std::string const sentence =
      ", target kind): expected lily, rose, tulip, got daisy, lily, rose; a table_encoder encodes the "
      "classes of all tables "
      "alike";
  EXPECT_EQ(refusal_of<data_error>([&] { run.fit(others); }),
            "the data set's classes have other names than those of the kept encoder (fit" + sentence);
  run.fit(encoder.examples(table_of("3,tulip\n1,lily\n")));
  run.save(folder / "flowers.safetensors");
  training loaded = load_trained<narrow>(folder / "flowers.safetensors");
  EXPECT_EQ(refusal_of<data_error>([&] { loaded.evaluate(others); }),
            "the data set's classes have other names than those of the kept encoder (evaluate" + sentence);
  EXPECT_EQ(loaded.evaluate(three()).examples(), 3);
}

using strings = std::vector<std::string>;

dataset letters(strings const& names) {
  static std::vector<float> const x{1, 2, 3};
  static std::vector<std::int32_t> const labels{0, 1, 2};
  return arrays({{.name = "input", .values = {x.data(), {3, 1}}}},
                {{.name = "kind", .values = {labels.data(), {3}}, .classes = 3, .label_names = names}});
}

TEST(class_names, are_in_model_files_and_checkpoints) {
  scratch_folder const folder;
  training run = classifier(3);
  EXPECT_EQ(run.class_names(), strings());
  run.fit(letters({"lily", "rose", "tulip"}));
  strings const names{"lily", "rose", "tulip"};
  EXPECT_EQ(run.class_names(), names);
  EXPECT_EQ(run.class_names("kind"), names);
  EXPECT_EQ(run.class_names("dense_1"), strings());
  EXPECT_NE(refusal_of<setting_error>([&] { run.class_names("sort"); }), "");
  run.save(folder / "model");
  save_checkpoint(run, folder / "kept");
  training loaded = load_trained<narrow>(folder / "model"), resumed = classifier(3), same = classifier(3);
  ASSERT_TRUE(resume(resumed, folder / "kept"));
  same.load(folder / "model");
  for (training* const one : {&loaded, &resumed, &same}) EXPECT_EQ(one->class_names(), names);
  EXPECT_NE(loaded.evaluate(letters({})).stats().find("1 rose"), std::string::npos);
  EXPECT_EQ(refusal_of<data_error>([&] {
              loaded.evaluate(letters({"rose", "lily", "tulip"}));
            }),
            "the data set's classes have other names than those of the training (evaluate, target kind): "
            "expected lily, rose, tulip, got rose, lily, tulip");
  loaded.fit(letters({}));
  EXPECT_EQ(loaded.class_names(), strings()) << "names of the last fit";
}

TEST(class_names, of_an_encoder_are_stored_once) {
  scratch_folder const folder;
  table_encoder const encoder(table_of("1,lily\n2,rose\n3,tulip\n"), {.target = "kind"});
  training run = classifier(3);
  run.keep(encoder);
  EXPECT_EQ(run.class_names(), encoder.label_names());
  run.fit(encoder.examples(table_of("3,tulip\n1,lily\n")));
  run.save(folder / "model");
  model_file const saved = model_file::open(folder / "model");
  EXPECT_EQ(saved.file().metadata().at("data/preparation").find("\"classes\":[["), std::string::npos);
  EXPECT_EQ(load_trained<narrow>(folder / "model").class_names(), encoder.label_names());
}

TEST(class_names, that_are_not_utf8_are_omitted_in_files) {
  scratch_folder const folder;
  training run = classifier(3);
  run.fit(letters({"lily", "\xff", "tulip"}));
  run.save(folder / "model");
  EXPECT_EQ(load_trained<narrow>(folder / "model").class_names(), strings());
}

TEST(class_names, in_files_must_fit_the_network) {
  scratch_folder const folder;
  training run = classifier(3);
  auto const loaded_with = [&](char const* classes) {
    model_content content(run.network());
    content.add_parameters(run.parameters()).add_metadata("data/preparation", classes);
    save_model(folder / "model", content);
    return load_trained<narrow>(folder / "model").class_names();
  };
  EXPECT_EQ(loaded_with(R"({"classes":[["a","b","c"]]})"), (strings{"a", "b", "c"}));
  EXPECT_EQ(loaded_with(R"({"classes":[["a","b"]]})"), strings());
  std::string const why = refusal_of<data_error>([&] { loaded_with(R"({"classes":[["a"],["b"]]})"); });
  EXPECT_NE(why.find("the names of the classes do not fit the network: expected 1 lists, got 2"),
            std::string::npos)
      << why;
}

TEST(class_names, must_be_equal_on_all_ranks) {
  launch<threads>(2, [](communicator& world) {
    training run = trainer<narrow>(
        graph::build([&](builder& b) { return b.input({1}) | dense{.units = 2} | softmax_cross_entropy{}; }),
        world, allreduce{});
    dataset const mine = world.rank() == 0 ? two() : examples_of("1,lily\n3,rose\n");
    EXPECT_EQ(refusal_of<setting_error>([&] { run.fit(mine, {.sharding = sharding::local}); }),
              "the ranks of this run differ (names of the classes): expected the same value on every rank, "
              "got names of the classes: lily, tulip on rank 0; lily, rose on rank 1");
  });
}

}  // namespace class_names_test
