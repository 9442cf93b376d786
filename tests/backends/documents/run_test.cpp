// SPDX-License-Identifier: Apache-2.0
// covers: documents/checks documents/data documents/monitors documents/outputs documents/ranks
// covers: documents/reports documents/settings
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/cohort.hpp>
#include <cohort/documents.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <filesystem>
#include <string>
#include <vector>
#include "../../checkpoint/scratch_folder.hpp"
#include "../../data/refused.hpp"

namespace documents_run_test {

using namespace cohort;

constexpr char const* table_layers =
    R"("network": {"layers": [{"input": [2]}, {"dense": 8}, "tanh", {"dense": 2}, "softmax_cross_entropy"]})";

/// Writes a table whose class is the sign of x + y, and a document that trains on it. `fields`: further
/// fields of the document.
std::string write_run(scratch_folder const& folder, std::string const& fields = "") {
  std::string rows = "x,y,kind\n";
  random_stream const draws(3, "documents");
  for (std::uint64_t row = 0; row < 200; ++row) {
    int const x = static_cast<int>(draws.below(2 * row, 201)) - 100;
    int const y = static_cast<int>(draws.below(2 * row + 1, 201)) - 100;
    rows += std::to_string(x / 100.0) + ',' + std::to_string(y / 100.0) + (x + y > 0 ? ",up\n" : ",down\n");
  }
  io::write_file(folder / "points.csv", rows);
  std::string const path = folder / "run.json";
  io::write_file(path, std::string(R"({"version": 1, )") + table_layers + R"(,
 "data": {"table": {"file": ")"
                           + (folder / "points.csv") + R"(", "target": "kind"}},
 "optimizer": {"rule": {"adam": {"learning_rate": 0.05}}},
 "training": {"epochs": 20, "batch": 10, "seed": 5},
 "backend": "reference")" + fields
                           + "}");
  return path;
}

documents::run_settings quiet() { return {.log = silent_sink(), .progress = {silent_sink(), {}}}; }

TEST(documents, are_run_by_a_program_of_three_lines) {
  scratch_folder const folder;
  std::string const path = write_run(folder);

  run_document const document = read_document(path);
  document_result const result = cohort::run(document, quiet());

  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.fitted.steps, 20 * 15);
  ASSERT_EQ(result.test.numbers.size(), 1u);
  EXPECT_EQ(result.test.numbers[0].first, "accuracy");
  EXPECT_GE(result.test.numbers[0].second, 0.9);
}

TEST(documents, give_the_parameters_of_the_same_program_in_cpp) {
  scratch_folder const folder;
  run_document const document = read_document(write_run(folder));
  std::string checksum;
  launch<self>([&](communicator& world) {
    documents::data_sets const data = documents::load(document);
    training trained = documents::make_training(document, *document.network.layers, world);
    trained.fit(data.train, document.fit);
    checksum = trained.checksum();
  });
  EXPECT_EQ(cohort::run(document, quiet()).checksum, checksum);
}

TEST(documents, run_on_the_ranks_that_they_request_and_print_to_the_output) {
  scratch_folder const folder;
  run_document document = read_document(write_run(folder));
  document.set("ranks.count", "2", "test");
  document.set("training.batch", "5", "test");
  std::vector<std::string> lines;
  documents::run_settings settings = quiet();
  settings.output = [&](std::string_view line) { lines.emplace_back(line); };
  document_result const result = cohort::run(document, settings);
  EXPECT_EQ(result.fitted.steps, 20 * 15);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "data: " + (folder / "points.csv") + ", 150 training and 50 test examples");
  std::string const& totals = lines[lines.size() - 2];
  EXPECT_NE(totals.find("2 ranks over threads by allreduce"), std::string::npos) << totals;
  EXPECT_TRUE(totals.ends_with("checksum " + result.checksum)) << totals;
}

TEST(documents, write_their_outputs_and_the_preparation_of_their_tables) {
  scratch_folder const folder;
  run_document document = read_document(write_run(folder));
  std::string const model = folder / "model.safetensors", report = folder / "report.json";
  document.set("output.model", model, "test");
  document.set("output.report", report, "test");
  document.set("output.html_report", folder / "report.html", "test");
  document_result const result = cohort::run(document, quiet());
  EXPECT_NE(io::read_text(report).find(result.checksum), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder / "report.html"));

  documents::table_preparation const learned = documents::preparation_in(model);
  ASSERT_TRUE(learned.encoder);
  EXPECT_EQ(documents::load_to_apply(document.data, learned, "").train.size(), 200);
  document.network = {.model = model};
  launch<self>([&](communicator& world) {
    training trained = documents::load_model(document, world);
    EXPECT_EQ(trained.checksum(), result.checksum);
    documents::data_sets const data = documents::load(document);
    documents::test_report const again = documents::evaluate(trained, *data.test, document.evaluation);
    EXPECT_EQ(again.numbers, result.test.numbers);
  });
}

TEST(documents, are_run_with_the_data_and_the_start_of_the_program) {
  scratch_folder const folder;
  run_document const document = read_document(write_run(folder));
  std::vector<std::string> calls;
  documents::run_settings settings = quiet();
  settings.begin = [&](communicator&) { calls.push_back("begin"); };
  settings.load = [&](communicator&) {
    calls.push_back("load");
    documents::data_sets data = documents::load(document);
    data.test.reset();
    return data;
  };
  settings.start = [&](training& trained) { calls.push_back("start at " + std::to_string(trained.step())); };
  settings.finish = [&](training& trained) {
    calls.push_back("finish at " + std::to_string(trained.step()));
  };
  document_result const result = cohort::run(document, settings);
  EXPECT_EQ(calls, (std::vector<std::string>{"begin", "load", "start at 0", "finish at 300"}));
  EXPECT_TRUE(result.test.numbers.empty());
}

TEST(documents, only_check_a_run_if_this_is_requested) {
  scratch_folder const folder;
  std::vector<std::string> findings;
  documents::run_settings settings = quiet();
  settings.checks = documents::checking::only;
  settings.log = [&](std::string_view line) { findings.emplace_back(line); };
  document_result const result = cohort::run(read_document(write_run(folder)), settings);
  EXPECT_EQ(result.fitted.steps, 0);
  EXPECT_TRUE(result.checksum.empty());
  EXPECT_EQ(std::ranges::count(findings, "preflight: the run on 1 ranks (self)"), 1);
}

TEST(documents, have_their_hosts_checked_by_all_ranks) {
  std::vector<std::string> findings;
  launch<threads>(2, [&](communicator& world) {
    documents::check_hosts(world, "", [&](std::string_view line) { findings.emplace_back(line); });
  });
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0], "preflight: hosts of 2 ranks (threads)");
}

TEST(documents, are_refused_with_the_field_that_the_program_cannot_use) {
  scratch_folder const folder;
  std::string const path = write_run(folder);
  EXPECT_EQ(refused<documents::usage_error>([&] { read_document(folder / "run.toml"); }),
            "expected a file that ends in .yaml, .yml or .json, got '" + (folder / "run.toml") + "'");
  run_document document = read_document(path);
  document.set("output.model", folder.path(), "test");
  EXPECT_EQ(refused<documents::usage_error>([&] { cohort::run(document, quiet()); }),
            "output.model: expected a file, got the folder '" + folder.path() + "'");
  document = read_document(path);
  document.set("ranks.count", "2", "test");
  document.set("strategy", "none", "test");
  EXPECT_EQ(refused<documents::usage_error>([&] { cohort::run(document, quiet()); }),
            "strategy: expected allreduce, averaging, sharing or top_k with several ranks, got 'none'");
  document = read_document(path);
  document.set("ranks.count", "2", "test");
  document.fit.sharding = sharding::local;
  EXPECT_NE(
      refused<documents::usage_error>([&] { cohort::run(document, quiet()); }).find("training.sharding"),
      std::string::npos);
}

TEST(documents, name_the_communicator_that_needs_another_number_of_ranks) {
  run_document document;
  document.ranks = {.count = 2, .communicator = "self"};
  EXPECT_EQ(refused<documents::usage_error>(
                [&] { documents::launch(document, false, [](communicator&) { return 0; }); }),
            "ranks.count: expected 1 with ranks.communicator self");
}

TEST(documents, check_the_folders_of_outputs_before_a_run) {
  scratch_folder const folder;
  documents::require_writable({{folder / "new/deep", "output.checkpoints", true}, {"", "output.model"}});
  EXPECT_EQ(documents::writable_folder(folder / "new/deep", true), folder.path());
  std::string const text = refused<documents::usage_error>([&] {
    documents::require_writable({{folder / "none/model.safetensors", "output.model"}});
  });
  EXPECT_TRUE(
      text.starts_with("output.model: expected a folder that can be written, got '" + (folder / "none")))
      << text;
  EXPECT_TRUE(folder.names().empty());
}

TEST(documents, parse_numbers_of_bytes) {
  EXPECT_EQ(documents::bytes_of("--max-bytes", "512M"), std::size_t{512} << 20);
  EXPECT_EQ(documents::bytes_of("--max-bytes", "7"), 7u);
  EXPECT_NE(
      refused<documents::usage_error>([] { documents::bytes_of("--max-bytes", "7X"); }).find("--max-bytes"),
      std::string::npos);
}

TEST(documents, stop_early_and_report_the_metrics_that_they_name) {
  scratch_folder const folder;
  run_document document = read_document(write_run(folder));
  document.set("training.epochs", "60", "test");
  document.set("training.metrics", R"(["log_loss", "top_k"])", "test");
  document.set("evaluation.top", "2", "test");
  document.set("training.early_stopping", R"({"metric": "accuracy", "patience": 2, "restore_best": true})",
               "test");
  document.set("output.model", folder / "best.safetensors", "test");
  document_result const result = cohort::run(document, quiet());
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_TRUE(result.fitted.stopped);
  auto const names = result.fitted.history.names();
  EXPECT_EQ(std::vector<std::string>(names.begin(), names.end()),
            (std::vector<std::string>{"epoch", "loss", "examples", "seconds", "validation loss", "log loss",
                                      "top-2 accuracy", "accuracy"}));
  auto const accuracies = result.fitted.history["accuracy"];
  ASSERT_LT(accuracies.size(), 60u);
  EXPECT_DOUBLE_EQ(result.test.numbers.at(0).second, *std::ranges::max_element(accuracies));
  document.network = {.model = folder / "best.safetensors"};
  document.set("training.epochs", "0", "test");
  document.set("output.model", "", "test");
  EXPECT_EQ(cohort::run(document, quiet()).checksum, result.checksum);
}

TEST(documents, weight_classes_in_the_training_loss_only) {
  scratch_folder const folder;
  run_document document = read_document(write_run(folder));
  std::string const plain = cohort::run(document, quiet()).checksum;
  document.set("training.class_weights", "[1, 1]", "test");
  EXPECT_EQ(cohort::run(document, quiet()).checksum, plain);
  document.set("training.class_weights", "balanced", "test");
  document_result const balanced = cohort::run(document, quiet());
  EXPECT_NE(balanced.checksum, plain);
  document.set("training.class_weights", "[0, 1]", "test");  // only "down", class 0, has no weight
  document_result const one_class = cohort::run(document, quiet());
  EXPECT_LT(one_class.test.numbers.at(0).second, 0.7);
  EXPECT_LT(one_class.fitted.loss, 0.01);
  EXPECT_GT(one_class.fitted.history["validation loss"].back(), 0.5);
  document.set("training.class_weights", "[1, 1, 1]", "test");
  EXPECT_NE(refused<setting_error>([&] { cohort::run(document, quiet()); }).find("2 weights, one per class"),
            std::string::npos);
}

TEST(documents, write_the_network_and_its_outputs_for_the_test_set) {
  scratch_folder const folder;
  run_document document = read_document(write_run(folder));
  document.set("output.onnx", folder / "net.onnx", "test");
  document.set("output.predictions", folder / "test.csv", "test");
  cohort::run(document, quiet());
  EXPECT_EQ(import_onnx(folder / "net.onnx").outputs.size(), 1u);
  std::string const text = io::read_text(folder / "test.csv");
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "example,softmax_cross_entropy_1.down,softmax_cross_entropy_1.up");
  EXPECT_EQ(std::ranges::count(text, '\n'), 51);
  document.set("data.table.test_fraction", "0", "test");
  EXPECT_NE(refused<setting_error>([&] { cohort::run(document, quiet()); }).find("output.predictions"),
            std::string::npos);
}

TEST(documents, begin_with_weights_of_another_library_by_a_table_of_names) {
  scratch_folder const folder;
  run_document document = read_document(write_run(folder));
  document.set("output.model", folder / "first.safetensors", "test");
  std::string const trained = cohort::run(document, quiet()).checksum;
  document.set("output.model", "", "test");
  document.set("training.epochs", "0", "test");
  EXPECT_NE(cohort::run(document, quiet()).checksum, trained);
  io::write_file(folder / "names.map", "dense_*.weights dense_*.weights\ndense_*.bias dense_*.bias\n- *\n");
  document.set("network.weights", folder / "first.safetensors", "test");
  document.set("network.names", folder / "names.map", "test");
  EXPECT_EQ(cohort::run(document, quiet()).checksum, trained);
  document.set("network.weights", "", "test");
  EXPECT_NE(refused<setting_error>([&] { cohort::run(document, quiet()); }).find("network.weights"),
            std::string::npos);
}

TEST(documents, write_curves_by_monitors) {
  scratch_folder const folder;
  run_document document = read_document(write_run(folder));
  document.output.tensorboard = folder / "board";
  launch<self>([&](communicator& world) {
    documents::data_sets const data = documents::load(document);
    training trained = documents::make_training(document, *document.network.layers, world);
    fit_settings fitting{.batch = 10, .epochs = 1};
    documents::monitors const shown(document.output, "test", trained, data.train, nullptr,
                                    document.evaluation, fitting);
    shown.add_to(fitting.listeners);
    ASSERT_EQ(fitting.listeners.size(), 1u);
    trained.fit(data.train, fitting);
  });
  EXPECT_FALSE(std::filesystem::is_empty(folder / "board"));
}

}  // namespace documents_run_test
