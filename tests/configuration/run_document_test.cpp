// SPDX-License-Identifier: Apache-2.0
// covers: configuration/data_source
#include <gtest/gtest.h>
#include <cohort/configuration/run_document.hpp>

#include <cohort/graph/graph_json.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/io/json.hpp>
#include <cohort/layer/lstm.hpp>
#include <cohort/strategy/detail/strategy_fields.hpp>
#include <cohort/training/detail/settings_fields.hpp>
#include <cohort/transform/detail/pipeline_fields.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "../io/members_of.hpp"

namespace run_document_test {

using namespace cohort;

constexpr std::string_view lenet_text = R"({
  "version": 1,
  "network": {"layers": [
    {"input": [1, 28, 28]},
    {"conv2d": {"filters": 20, "kernel": 5}}, "relu", {"max_pool": {"window": 2}},
    {"conv2d": {"filters": 50, "kernel": 5, "stride": 2}}, "relu", {"max_pool": {"window": 2}},
    {"dense": 200}, "relu",
    {"dense": 10}, "softmax_cross_entropy"]},
  "optimizer": {"rule": {"adagrad": {"learning_rate": 0.02}}, "l2": 0.0005}
})";

// clang-format off
constexpr auto lenet = network<[](builder& net) {
  return net.input({1, 28, 28})
       | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
       | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
       | dense{.units = 200} | relu{}
       | dense{.units = 10} | softmax_cross_entropy{};
}>();
// clang-format on

/// A document with other values in one section.
std::string with(std::string_view fields) {
  return R"({"version": 1, "network": {"layers": [{"input": [4]}, {"dense": 2}, "softmax_cross_entropy"]}, )"
         + std::string(fields) + "}";
}
std::string refused(std::string const& text) {
  return refusal_of<data_error>([&] { run_document::from_json(text, "run.json"); });
}

TEST(run_document, reads_the_network_and_the_settings) {
  run_document const run = run_document::from_json(lenet_text);
  ASSERT_TRUE(run.network.layers);
  EXPECT_EQ(run.network.layers->hash(), lenet.hash());
  EXPECT_EQ(run.training.optimizer.rule, optimizer_rule(adagrad{.learning_rate = 0.02}));
  EXPECT_EQ(run.training.optimizer.l2, 5e-4);
  run.check();
}

TEST(run_document, uses_defaults_for_omitted_fields) {
  run_document const run = run_document::from_json(lenet_text);
  EXPECT_EQ(run.fit.batch, fit_settings{}.batch);
  EXPECT_EQ(run.training.seed, training_settings{}.seed);
  EXPECT_TRUE(std::holds_alternative<digits_source>(run.data));
  EXPECT_TRUE(std::holds_alternative<automatic_strategy>(run.strategy));
  EXPECT_TRUE(run.normalise.inputs == rescaling::none && run.normalise.targets == rescaling::none);
}

TEST(run_document, round_trips_through_json) {
  run_document const run = run_document::from_json(lenet_text);
  std::string const text = to_json(run);
  run_document const again = run_document::from_json(text);
  EXPECT_EQ(to_json(again), text);
  EXPECT_EQ(again, run);
  EXPECT_EQ(again.network.layers->hash(), lenet.hash());
  EXPECT_NE(text.find(R"("every")"), 0u);
}

TEST(run_document, connects_branches_by_the_names_of_layers) {
  run_document const run = run_document::from_json(R"({"version": 1, "network": {"layers": [
    {"input": {"extents": [8], "name": "x"}},
    {"dense": {"units": 8, "name": "left", "settings": {"weights": "relu", "bias": {"constant": {"value": 0.1}}}}},
    {"dense": {"units": 8, "inputs": "x", "settings": {"shares": "left"}}},
    {"add": {"inputs": ["left", "dense_2"]}},
    {"dense": {"units": 3}}, "softmax_cross_entropy"]}})");
  graph const expected = graph::build([](builder& net) {
    tensor const x = net.input({8}, "x");
    tensor const left =
        x
        | dense{
            .units = 8, .settings = {.weights = init::relu{}, .bias = init::constant{0.1}}, .name = "left"};
    tensor const right = x | dense{.units = 8, .settings = {.shares = "left"}};
    return join(add{}, left, right) | dense{.units = 3} | softmax_cross_entropy{};
  });
  EXPECT_EQ(to_json(graph_view(*run.network.layers)), to_json(graph_view(expected)));
  EXPECT_EQ(run_document::from_json(to_json(run)).network.layers->hash(), expected.hash());
}

TEST(run_document, reads_networks_of_masked_sequences_and_indices) {
  run_document const run = run_document::from_json(R"({"version": 1, "network": {"layers": [
    {"masked_input": [60]}, {"embedding": {"vocabulary": 30, "width": 8}},
    {"lstm": {"units": 16, "last_step": true}}, {"dense": 6}, "softmax_cross_entropy"]}})");
  graph const& net = *run.network.layers;
  EXPECT_EQ(net.view().masks().size(), 1u);
  EXPECT_TRUE(net.view().is_indices(0));
  EXPECT_EQ(run_document::from_json(to_json(run)), run);
}

TEST(run_document, reads_schedules_and_choices) {
  run_document const run = run_document::from_json(with(R"(
    "initial": {"weights": "relu", "bias": {"normal": {"deviation": 0.5}}},
    "optimizer": {
      "rule": {"nesterov": {"learning_rate": {"cosine": {"initial": 0.2, "length": 10, "restarts": true, "warm_up": 3}},
                               "momentum": {"map": {"values": [{"from": 0, "value": 0.5}, {"from": 4, "value": 0.9}]}}}},
      "bias_rule": "sgd",
      "normalisation": {"clip_global_norm": {"at": 5}}, "constraint": "unit_norm",
      "layers": [{"layer": "dense_*", "l1": 0.25, "frozen": true}],
      "plateau": {"patience": 3}},
    "strategy": {"sharing": {"threshold": {"fixed": {"value": 0.25}}, "residual": "clip", "max_staleness": "unbounded",
                             "share": "update"}})"));
  training_settings const& s = run.training;
  EXPECT_EQ(s.weights, initialiser(init::relu{}));
  EXPECT_EQ(s.bias, initialiser(init::normal{0.5}));
  schedule::map momentum_of_epoch;
  momentum_of_epoch.values[0] = {0, 0.5};
  momentum_of_epoch.values[1] = {4, 0.9};
  EXPECT_EQ(
      s.optimizer.rule,
      optimizer_rule(nesterov{
          .learning_rate =
              schedule::warm_up{.length = 3,
                                .rate = schedule::cosine{.initial = 0.2, .length = 10, .restarts = true}},
          .momentum = momentum_of_epoch}));
  EXPECT_EQ(*s.optimizer.bias_rule, optimizer_rule(sgd{}));
  EXPECT_EQ(s.optimizer.normalisation, gradient_normalisation(normalise::clip_global_norm{5}));
  EXPECT_EQ(s.optimizer.constraint, parameter_constraint(constraint::unit_norm{}));
  ASSERT_EQ(s.optimizer.layers.size(), 1u);
  EXPECT_EQ(s.optimizer.layers[0], (layer_override{.layer = "dense_*", .l1 = 0.25, .frozen = true}));
  EXPECT_EQ(*s.plateau, reduce_on_plateau{.patience = 3});
  auto const& how = std::get<threshold_sharing>(run.strategy);
  EXPECT_EQ(how.threshold, threshold_policy(threshold::fixed{0.25}));
  EXPECT_EQ(how.residual, residual_policy(residual::clip{}));
  EXPECT_EQ(how.settings.max_staleness, unbounded);
  EXPECT_EQ(how.settings.share, share::update);
}

TEST(run_document, reports_file_line_path_and_the_nearest_field) {
  EXPECT_EQ(
      refused(
          "{\"version\": 1,\n \"network\": {\"layers\": [{\"input\": [4]}]},\n \"ranks\": {\"cuont\": 2}}"),
      "cannot read the document (run.json:3:21, $.ranks.cuont): expected one of the fields count, "
      "communicator, "
      "deadline, heartbeat; the nearest name is count, got \"cuont\"");
  EXPECT_EQ(refused(with(R"("ranks": {"counts": 2})")),
            "cannot read the document (run.json:1:116, $.ranks.counts): expected one of the fields count, "
            "communicator, "
            "deadline, heartbeat; the nearest name is count, got \"counts\"");
  EXPECT_EQ(refused(with(R"("ranks": {"count": "two"})")),
            "cannot read the document (run.json:1:115, $.ranks.count): expected an integer from 1 to 1024, "
            "got the string "
            "\"two\"");
  EXPECT_EQ(
      refused(with(R"("optimizer": {"l2": -1})")),
      "cannot read the document (run.json:1:116, $.optimizer.l2): expected a number of at least 0, got -1");
  EXPECT_EQ(refused(with(R"("strategy": {"averging": {}})")),
            "cannot read the document (run.json:1:108, $.strategy): expected one of the strategies auto, "
            "none, allreduce, "
            "averaging, sharing, top_k; the nearest name is averaging, got \"averging\"");
  EXPECT_EQ(refused(with(R"("strategy": {"allreduce": {}, "averaging": {}})")),
            "cannot read the document (run.json:1:108, $.strategy): expected one of the strategies: a name, "
            "or an object "
            "with one field of that name, got an object");
  EXPECT_EQ(refused(with(R"("optimizer": {"rule": {"adam": {"beta": 0.5}}})")),
            "cannot read the document (run.json:1:136, $.optimizer.rule.adam.beta): expected one of the "
            "fields learning_rate, "
            "beta1, beta2, epsilon, epsilon_hat; the nearest name is beta1, got \"beta\"");
  EXPECT_EQ(
      refused(with(R"("optimizer": {"rule": {"adam": {"beta1": 2}}})")),
      "cannot read the document (run.json:1:137, $.optimizer.rule.adam.beta1): expected at least 0 and below "
      "1, got 2");
  EXPECT_EQ(
      refused(with(R"("optimizer": {"rule": {"sgd": {"learning_rate": {"step": {"evry": 2}}}}})")),
      "cannot read the document (run.json:1:162, $.optimizer.rule.sgd.learning_rate.step.evry): expected one "
      "of the fields "
      "initial, factor, every, by, warm_up, warm_up_by; the nearest name is every, got \"evry\"");
}

TEST(run_document, reads_a_decay_of_the_average_below_1) {
  run_document const run = run_document::from_json(with(R"("optimizer": {"average_decay": 0.999})"));
  EXPECT_EQ(run.training.average_decay, 0.999);
  std::string const message = refused(with(R"("optimizer": {"average_decay": 1})"));
  EXPECT_NE(message.find("$.optimizer.average_decay): expected a number of at least 0 and below 1, got 1"),
            std::string::npos)
      << message;
}

/// Schedules compute with doubles.
TEST(run_document, refuses_steps_of_a_schedule_that_a_double_does_not_represent) {
  for (std::string const schedule :
       {R"("step": {"every": 9007199254740993})", R"("cosine": {"length": 9007199254740993})",
        R"("sigmoid": {"middle": -9007199254740993})", R"("fixed": {"warm_up": 9007199254740993})",
        R"("map": {"values": [{"from": 9007199254740993, "value": 0.1}]})"}) {
    std::string const message =
        refused(with(R"("optimizer": {"rule": {"sgd": {"learning_rate": {)" + schedule + "}}}}"));
    EXPECT_NE(message.find("9007199254740992"), std::string::npos) << schedule << ": " << message;
  }
}

TEST(run_document, refuses_fields_of_a_choice_without_fields) {
  EXPECT_EQ(refused(with(R"("strategy": {"none": {"every": 2}})")),
            "cannot read the document (run.json:1:127, $.strategy.none.every): expected no field, got "
            "\"every\"");
  EXPECT_EQ(
      refused(with(R"("optimizer": {"rule": {"no_op": {"learning_rate": 2}}})")),
      "cannot read the document (run.json:1:146, $.optimizer.rule.no_op.learning_rate): expected no field, "
      "got \"learning_rate\"");
  EXPECT_EQ(
      refused(with(R"("initial": {"weights": {"zeros": {"value": 2}}})")),
      "cannot read the document (run.json:1:139, $.initial.weights.zeros.value): expected no field, got "
      "\"value\"");
}

TEST(run_document, reads_integers_with_an_exponent) {
  run_document const run = run_document::from_json(
      with(R"("training": {"batch": 1e2, "epochs": 3.0, "seed": 1e15}, "ranks": {"count": 2e0})"));
  EXPECT_EQ(run.fit.batch, 100);
  EXPECT_EQ(run.fit.epochs, 3);
  EXPECT_EQ(run.training.seed, 1'000'000'000'000'000u);
  EXPECT_EQ(run.ranks.count, 2);
  EXPECT_EQ(refused(with(R"("training": {"batch": 1.5})")),
            "cannot read the document (run.json:1:118, $.training.batch): expected an integer from 1 to "
            "2147483647, got 1.5");
}

TEST(run_document, accepts_null_for_the_defaults_of_a_choice) {
  run_document const run = run_document::from_json(with(
      R"("strategy": {"averaging": null}, "optimizer": {"rule": {"adam": null}}, "data": {"mnist": null})"));
  EXPECT_EQ(run, run_document::from_json(
                     with(R"("strategy": "averaging", "optimizer": {"rule": "adam"}, "data": "mnist")")));
}

TEST(run_document, ignores_the_field_schema) {
  run_document const run = run_document::from_json(with(R"("$schema": "cohort.schema.json")"));
  EXPECT_EQ(run, run_document::from_json(with(R"("backend": "auto")")));
  EXPECT_EQ(to_json(run).find("$schema"), std::string::npos);
  EXPECT_EQ(refused(with(R"("$schema": 1)")),
            "cannot read the document (run.json:1:107, $[\"$schema\"]): expected a string, got 1");
}

TEST(run_document, refuses_networks_beyond_the_size_limits) {
  auto const of = [](std::string const& layers) {
    return refused(R"({"version": 1, "network": {"layers": [{"input": [4]})" + layers + "]}}");
  };
  std::string layers, inputs;
  for (int k = 0; k < 10'000; ++k) layers += ", \"relu\"";
  EXPECT_EQ(of(layers),
            "cannot read the document (run.json:1:38, $.network.layers): expected a list of 1 to "
            "10000 layers, got an array of 10001");
  for (int k = 0; k < 1'001; ++k) inputs += std::string(k == 0 ? "" : ", ") + "\"input_1\"";
  EXPECT_EQ(of(R"(, {"concatenate": {"inputs": [)" + inputs + "]}}"),
            "cannot read the document (run.json:1:82, $.network.layers[1].concatenate.inputs): expected at "
            "most 1000 "
            "inputs, got an array of 1001");
  std::string wide = "\"dense_1\"";
  for (int k = 0; k < 64; ++k) wide += ", \"dense_1\"";
  EXPECT_EQ(of(R"(, {"dense": 16777216}, {"concatenate": {"inputs": [)" + wide + "]}}"),
            "cannot read the document (run.json:1:76, $.network.layers[2]): expected inputs of at most "
            "1073741824 elements, got more");
  // An extent of 2^32 + 131064, which has 17 bits modulo 2^32.
  auto const of_image = [](std::string const& layer) {
    return refused(R"({"version": 1, "network": {"layers": [{"input": [1, 262136, 8]}, )" + layer + "]}}");
  };
  std::string const begin =
      "cannot read the document (run.json:1:66, $.network.layers[1]): expected a layer that fits its inputs, "
      "got ";
  EXPECT_EQ(
      of_image(R"({"upsampling": {"factor": [16385, 1]}})"),
      begin
          + "upsampling: an extent of the output is more than 2^30 (input 1x262136x8, factor "
            "16385x1)");
  EXPECT_EQ(of_image(R"({"conv2d_transposed": {"filters": 1, "kernel": 1, "stride": [16385, 1]}})"),
            begin + "conv2d_transposed: an extent of the output is more than 2^30 (input 1x262136x8, stride "
                    "16385x1)");
}

TEST(run_document, selects_its_strategy_by_name) {
  run_document run = run_document::from_json(lenet_text);
  for (char const* const name : {"auto", "none", "allreduce", "averaging", "sharing", "top_k"}) {
    run.set("strategy", name, "--set");
    EXPECT_EQ(name_of(run.strategy), name);
  }
}

TEST(run_document, refuses_another_version) {
  EXPECT_EQ(refused(R"({"version": 2})"),
            "cannot read the document (run.json:1:13, $.version): expected version 1, the one that this "
            "library reads; "
            "convert the document, or use a version that reads it, got 2");
  EXPECT_EQ(refused("{}"),
            "cannot read the document (run.json:1:1, $): expected a field \"version\": 1, the format of the "
            "document, got no "
            "such field");
}

TEST(run_document, reports_the_layer_that_does_not_fit) {
  auto const of = [](std::string const& layers) {
    return refused(R"({"version": 1, "network": {"layers": [)" + layers + "]}}");
  };
  EXPECT_EQ(of(R"({"input": [1, 4, 4]}, {"conv2d": {"filters": 2, "kernel": 5}})"),
            "cannot read the document (run.json:1:61, $.network.layers[1]): expected a layer that fits its "
            "inputs, got conv2d: "
            "the kernel is larger than its input (input 1x4x4, kernel 5x5)");
  EXPECT_EQ(of(R"({"input": [4]}, {"dens": 3})"),
            "cannot read the document (run.json:1:55, $.network.layers[1]): expected a kind of layer, such "
            "as conv2d; the nearest name is dense, got \"dens\"");
  EXPECT_EQ(of(R"({"input": [4]}, {"dense": {"unit": 3}})"),
            "cannot read the document (run.json:1:74, $.network.layers[1].dense.unit): expected one of the "
            "fields units, bias, "
            "name, inputs, settings; the nearest name is units, got \"unit\"");
  EXPECT_EQ(of(R"({"input": [4]}, "dense")"),
            "cannot read the document (run.json:1:55, $.network.layers[1]): expected a field \"units\", got "
            "no such field");
  EXPECT_EQ(
      of(R"({"input": [16777216]}, {"dense": 16777216})"),
      "cannot read the document (run.json:1:62, $.network.layers[1]): expected tensors of 1 to 1073741824 "
      "elements, got 16777216x16777216");
  EXPECT_EQ(of(R"("relu")"),
            "cannot read the document (run.json:1:39, $.network.layers[0]): expected an input as the first "
            "layer, such as "
            "input: [1, 28, 28], got the string \"relu\"");
  EXPECT_EQ(of(R"({"input": {"extents": [4], "name": "pixels"}}, {"relu": {"inputs": "pixel"}})"),
            "cannot read the document (run.json:1:106, $.network.layers[1].relu.inputs): expected the name "
            "of a layer; the nearest name is pixels, got \"pixel\"");
  EXPECT_EQ(
      of(R"({"input": [4]}, {"dense": {"units": 3, "name": "a"}}, {"dense": {"units": 3, "name": "a"}})"),
      "cannot read the document (run.json:1:124, $.network.layers[2].dense.name): expected a unique name, "
      "got \"a\", the name of $.network.layers[1]");
  auto const refuses = [&](std::string const& layers, char const* expected) {
    std::string const made = of(layers);
    EXPECT_NE(made.find(expected), std::string::npos) << made;
  };
  refuses(R"({"input": [4]}, {"dense": {"units": 3, "name": ""}})", "expected a name that is not empty, got");
  refuses(R"({"input": {"extents": [4], "inputs": "x"}})",
          "expected no inputs: an input reads no layer, got");
}

TEST(run_document, refuses_missing_or_contradictory_fields) {
  auto const problem = [](std::string_view path, std::string_view value) {
    run_document run = run_document::from_json(lenet_text);
    run.set(path, value, "--set");
    run.origins.clear();
    return refusal_of<setting_error>([&] { run.check(); });
  };
  EXPECT_EQ(problem("network.model", "a.safetensors"),
            "a document does not describe a run (network): expected one of layers, model and import, got 2");
  EXPECT_EQ(
      problem("network.layers", "null"),
      "a document does not describe a run (network): expected one of layers, model and import, got none");
  EXPECT_EQ(
      problem("network", R"({"layers": null, "import": {}})"),
      "a document does not describe a run (network.import.file): expected a file of another library, got "
      "none");
  EXPECT_EQ(
      problem("network", R"({"layers": null, "import": {"file": "a.onnx"}, "parameters": false})"),
      "a document does not describe a run (network.parameters): expected true, because an imported network "
      "begins with the file's parameters, got false");
  EXPECT_EQ(
      problem("data", R"({"table": {"file": "a", "target": "t", "weight": "t"}})"),
      "a document does not describe a run (data.table.weight): expected a column that is neither the target "
      "nor an input, got t");
  EXPECT_EQ(
      problem("data", R"({"table": {"file": "a", "target": "t", "inputs": ["w"], "weight": "w"}})"),
      "a document does not describe a run (data.table.weight): expected a column that is neither the target "
      "nor an input, got w");
  EXPECT_EQ(
      problem("data", "audio"),
      "a document does not describe a run (data.audio.folder): expected a folder with one folder of WAV "
      "files per class, got none");
  EXPECT_EQ(problem("data", "table"),
            "a document does not describe a run (data.table.file): expected a file with a table, got none");
  EXPECT_EQ(
      problem("data", R"({"text": {"file": "a", "tokens": {"gpt2": {"vocabulary": "v"}}}})"),
      "a document does not describe a run (data.text.tokens.gpt2.merges): expected the file merges.txt of "
      "GPT-2, got none");
  EXPECT_EQ(problem("data", R"({"text": {"file": "a", "tokens": "gpt2"}})"),
            "a document does not describe a run (data.text.tokens.gpt2.vocabulary): expected the file "
            "vocab.json of GPT-2, got none");
  EXPECT_EQ(problem("data", R"({"text": {"file": "a", "tokens": "file"}})"),
            "a document does not describe a run (data.text.tokens.file.file): expected a file of "
            "tokenizer::save, got none");
  EXPECT_EQ(problem("output.resume", "true"),
            "a document does not describe a run (output.checkpoints): expected a folder, because resume or "
            "checkpoint_every is set, got none");
  EXPECT_EQ(
      problem("network.optimizer_state", "true"),
      "a document does not describe a run (network.optimizer_state): expected false, because layers have no "
      "optimizers' state, got true");
  EXPECT_EQ(
      problem("network", R"({"layers": null, "model": "a", "parameters": false, "optimizer_state": true})"),
      "a document does not describe a run (network.parameters): expected true, because optimizer_state "
      "continues the model's training, got false");
  EXPECT_EQ(problem("ranks", R"({"communicator": "self", "count": 2})"),
            "a document does not describe a run (ranks.count): expected 1 with communicator self, got 2");
  EXPECT_EQ(problem("output.tokens", "t"),
            "a document does not describe a run (output.tokens): expected no file, because only a text has "
            "tokens, got t");
  EXPECT_EQ(problem("training.workers", "0"),
            "a document does not describe a run (training.workers): expected at least 1, or training.tune: "
            "true to choose the number, got 0");
  std::string const command =
      "a document does not describe a run (remote.command): expected arguments that contain {name}, the "
      "remote path, and {file}, the file to write, got none with ";
  EXPECT_EQ(problem("remote.command", R"(["cp", "{file}"])"), command + "{name}");
  EXPECT_EQ(problem("remote.command", R"(["cp", "{name}"])"), command + "{file}");
  EXPECT_EQ(problem("remote.command", R"(["cp", "{name}", "{file}"])"), "");
  EXPECT_EQ(problem("data", R"({"images": {"folder": "a", "channels": 2}})"),
            "a document does not describe a run (data.images.channels): expected 1 or 3, got 2");
}

TEST(run_document, refuses_remote_paths_that_are_not_files_to_read) {
  auto const problem = [](std::string_view path, std::string_view value) {
    run_document run = run_document::from_json(lenet_text);
    run.set(path, value, "--set");
    run.origins.clear();
    return refusal_of<setting_error>([&] { run.check(); });
  };
  std::string const begin = "a document does not describe a run (";
  std::string const written =
      "): expected a path of this host; copy the file to the remote system after the run, got s3://b/a";
  for (char const* const field :
       {"model", "onnx", "tokens", "predictions", "checkpoints", "report", "tensorboard", "html_report"})
    EXPECT_EQ(problem(std::string("output.") + field, "s3://b/a"), begin + "output." + field + written);
  std::string const folder =
      "): expected a folder of this host; only files can be remote, such as records of its contents, got "
      "s3://b";
  EXPECT_EQ(problem("data.mnist.folder", "s3://b"), begin + "data.mnist.folder" + folder);
  EXPECT_EQ(problem("data.images.folder", "s3://b"), begin + "data.images.folder" + folder);
  EXPECT_EQ(problem("data.audio.folder", "s3://b"), begin + "data.audio.folder" + folder);
  EXPECT_EQ(problem("remote.folder", "s3://b"), begin + "remote.folder" + folder);
  EXPECT_EQ(problem("data", R"({"table": {"file": "hdfs://h/a.csv", "target": "t"}})"), "");
  EXPECT_EQ(problem("data.images.folder", "a/b://c"), "");  // "a/b" is no scheme
}

TEST(run_document, refuses_split_settings_beside_a_separate_test_set) {
  auto const problem = [](std::string_view data) {
    run_document run = run_document::from_json(lenet_text);
    run.set("data", data, "--set");
    run.origins.clear();
    return refusal_of<setting_error>([&] { run.check(); });
  };
  constexpr std::string_view sentence = "expected the default, because the test set has its own files, got ";
  auto const at = [&](std::string const& path, std::string const& got) {
    return "a document does not describe a run (" + path + "): " + std::string(sentence) + got;
  };
  EXPECT_EQ(problem(R"({"table": {"file": "a", "test_file": "b", "target": "t", "test_fraction": 0.5}})"),
            at("data.table.test_fraction", "0.5"));
  EXPECT_EQ(problem(R"({"table": {"file": "a", "test_file": "b", "target": "t", "split_seed": 3}})"),
            at("data.table.split_seed", "3"));
  EXPECT_EQ(problem(R"({"table": {"file": "a", "test_file": "b", "target": "t", "stratified": true}})"),
            at("data.table.stratified", "true"));
  EXPECT_EQ(problem(R"({"images": {"folder": "a", "test_folder": "b", "split_seed": 3}})"),
            at("data.images.split_seed", "3"));
  EXPECT_EQ(problem(R"({"table": {"file": "a", "target": "t", "stratified": true, "split_seed": 3}})"), "");
  EXPECT_EQ(problem(R"({"table": {"file": "a", "test_file": "b", "target": "t"}})"), "");
  EXPECT_EQ(refused(with(R"("data": {"series": {"test_fraction": 1}})")),
            "cannot read the document (run.json:1:133, $.data.series.test_fraction): expected a number of at "
            "least 0 "
            "and below 1, got 1");
  EXPECT_EQ(problem(R"({"idx": {"images": "a", "labels": "b"}})"), "");
  EXPECT_EQ(problem(R"({"idx": {"images": "a", "labels": "b", "test_images": "c"}})"),
            "a document does not describe a run (data.idx.test_labels): expected a file of labels, got none");
}

TEST(run_document, requires_files_classes_and_format_fields_of_records) {
  auto const problem = [](std::string const& fields) {
    run_document run = run_document::from_json(lenet_text);
    run.set("data", "{\"records\": {" + fields + "}}", "--set");
    run.origins.clear();
    return refusal_of<setting_error>([&] { run.check(); });
  };
  auto const at = [&](std::string const& field, std::string const& rest) {
    return "a document does not describe a run (data.records." + field + "): expected " + rest;
  };
  std::string const files = R"("files": "a-{0..9}.tar", )", some = files + R"("classes": 2)";
  EXPECT_EQ(problem(some), "");
  EXPECT_EQ(problem(files + R"("classes": ["x"])"), "");
  EXPECT_EQ(problem(files + R"("words": "w")"), "");
  EXPECT_EQ(problem(R"("classes": 2)"), at("files", "paths of files of records, got none"));
  for (char const* none : {"0", "[]"})
    EXPECT_EQ(problem(files + "\"classes\": " + none),
              at("classes",
                 "the number of classes, a list of their names, or a file in data.records.words, got none"));
  EXPECT_EQ(problem(some + R"(, "cache": "")"), at("cache", "auto, none, or a folder, got none"));
  auto const images = [&](char const* format, char const* content) {
    return problem(some + ", \"format\": \"" + format + "\", \"content\": {\"images\": " + content + "}");
  };
  std::string const unnamed = "no such field, because a Datum of Caffe has no names, got x";
  EXPECT_EQ(images("webdataset", R"({"image": ["x"], "label": "x"})"), "");
  EXPECT_EQ(images("lmdb", "{}"), "");
  EXPECT_EQ(images("lmdb", R"({"image": "x"})"), at("content.images.image", unnamed));
  EXPECT_EQ(images("sequence_file", R"({"label": "x"})"), at("content.images.label", unnamed));
  EXPECT_EQ(images("webdataset", R"({"channels": 2})"), at("content.images.channels", "1 or 3, got 2"));
  auto const numbers = [&](char const* format, char const* content) {
    return problem(some + ", \"format\": \"" + format + "\", \"content\": {\"numbers\": " + content + "}");
  };
  EXPECT_EQ(numbers("webdataset", R"({"extents": [2], "values": "x", "type": "u8"})"), "");
  EXPECT_EQ(numbers("lmdb", R"({"extents": [2]})"), "");
  EXPECT_EQ(numbers("lmdb", R"({"extents": [2], "values": "x"})"), at("content.numbers.values", unnamed));
  EXPECT_EQ(numbers("lmdb", R"({"extents": [2], "label": "x"})"), at("content.numbers.label", unnamed));
  EXPECT_EQ(numbers("tfrecord", R"({"extents": [2]})"),
            at("content.numbers.values", "the name of a field of numbers, got none"));
  EXPECT_EQ(numbers("tfrecord", R"({"extents": [2], "values": "x", "type": "u8"})"),
            at("content.numbers.type", "f32, because only fields of a webdataset have another type, got u8"));
  EXPECT_EQ(numbers("lmdb", "{}"),
            at("content.numbers.extents", "1 to 5 extents of an example, got 0 extents"));
  EXPECT_EQ(numbers("lmdb", R"({"extents": [65536, 65536]})"),
            at("content.numbers.extents", "at most 2147483647 numbers, got 4294967296"));
  EXPECT_EQ(
      refused(with(R"("data": {"records": {"files": 3}})")),
      "cannot read the document (run.json:1:126, $.data.records.files): expected a string, or a list of "
      "strings, got 3");
  EXPECT_EQ(
      refused(with(R"("data": {"records": {"classes": null}})")),
      "cannot read the document (run.json:1:128, $.data.records.classes): expected the number of classes, "
      "or a list of their names, got null");
}

TEST(run_document, overrides_a_field_and_keeps_the_other_fields) {
  run_document run = run_document::from_json(lenet_text);
  run.set("training.batch", "64", "--set");
  run.set("optimizer.rule.adagrad.epsilon", "0.5", "--set");
  EXPECT_EQ(run.fit.batch, 64);
  EXPECT_EQ(run.training.optimizer.rule, optimizer_rule(adagrad{.learning_rate = 0.02, .epsilon = 0.5}));
  run.set("strategy.averaging.every", "3", "--set");
  run.set("strategy.averaging.overlap", "true", "--set");
  EXPECT_EQ(std::get<parameter_averaging>(run.strategy).every, 3);
  EXPECT_TRUE(std::get<parameter_averaging>(run.strategy).overlap);
  run.set("strategy", "top_k", "--set");
  EXPECT_TRUE(std::holds_alternative<top_k_sharing>(run.strategy));
  run.set("output.model", "a b.safetensors", "--set");
  EXPECT_EQ(run.output.model, "a b.safetensors");
  run.set("data.table.inputs", R"(["x", "y"])", "--set");
  EXPECT_EQ(std::get<table_source>(run.data).encode.inputs, (std::vector<std::string>{"x", "y"}));
}

TEST(run_document, reports_origin_and_path_of_a_refused_override) {
  run_document run = run_document::from_json(lenet_text);
  auto const refused_set = [&](std::string_view path, std::string_view value) {
    std::string const before = to_json(run);
    std::string const text = refusal_of<data_error>([&] { run.set(path, value, "--set x"); });
    EXPECT_EQ(to_json(run), before);
    return text;
  };
  EXPECT_EQ(refused_set("training.batch", "0"),
            "cannot set a field of the document (--set x, $.training.batch): expected an integer from 1 to "
            "2147483647, "
            "got 0");
  EXPECT_EQ(refused_set("training.batches", "1"),
            "cannot set a field of the document (--set x, $.training.batches): expected one of the fields "
            "batch, epochs, shuffle, blocks, sharding, accumulate, prefetch, bucket, readers, seed, workers, "
            "threads, max_bytes, recompute, not_finite, deadline, tune, metrics, class_weights, "
            "early_stopping; the nearest name is batch, got \"batches\"");
  EXPECT_EQ(refused_set("network.layers[0].dense", "1"),
            "cannot set a field of the document (--set x): expected a path without indices: a list is set as "
            "a whole, "
            "got network.layers[0].dense");
  EXPECT_EQ(
      refused_set("network.layers", "[{input: [5]}]"),
      "cannot set a field of the document: the value is not JSON (--set x:1:3, $[0]): expected a field name "
      "in quotes or '}', got 'i'");
  EXPECT_EQ(
      refused_set("data", "{\"digits\": {\"train\": 64}"),
      "cannot set a field of the document: the value is not JSON (--set x:1:25, $): expected ',' or '}', "
      "got the end of the text");
  EXPECT_EQ(
      refused_set("output.model", "\"a"),
      "cannot set a field of the document: the value is not JSON (--set x:1:3, $): expected '\"' at the end "
      "of a string, got the end of the text");
  EXPECT_EQ(
      refused_set("output.model", "123"),
      "cannot set a field of the document (--set x, $.output.model): expected a string: '\"123\"', got 123");
  EXPECT_EQ(
      refused_set("output.model", "[1]"),
      "cannot set a field of the document (--set x, $.output.model): expected a string, got an array of 1");
  EXPECT_EQ(refused_set("", "1"),
            "cannot set a field of the document (--set x): expected a path such as training.batch, got \"\"");
}

// ---- all documents --------------------------------------------------------------------------------------

int size_at(std::string const& text, std::initializer_list<std::string_view> path) {
  io::json_document const parsed = io::parse_json(text);
  io::json_value at = parsed.root();
  for (std::string_view const name : path) at = at.at(name);
  return static_cast<int>(at.size());
}

TEST(run_document, reports_where_contradictory_fields_were_set) {
  run_document run = run_document::from_json(
      "{\"version\": 1,\n \"network\": {\"layers\": [{\"input\": [4]}, {\"dense\": 2}, "
      "\"softmax_cross_entropy\"]},\n \"data\": {\"table\": {\n  \"file\": \"a\",\n  \"target\": \"t\",\n"
      "  \"transform\": {\"schema\": [\n   {\"name\": \"x\"},\n   {\"name\": \"day\", \"type\": \"time\", "
      "\"format\": \"dd.mm.yyyy\"}]}}}}",
      "run.json");
  auto const problem = [&] { return refusal_of<setting_error>([&] { run.check(); }); };
  std::string const format = problem();
  EXPECT_NE(
      format.find("(run.json:6:27, data.table.transform.schema, column \"day\"): expected directives such as "
                  "%d/%m/%Y"),
      std::string::npos)
      << format;
  EXPECT_NE(format.find("got \"dd.mm.yyyy\": no year (%Y or %y): a format of times is invalid"),
            std::string::npos)
      << format;
  run.set("data.table.transform", "null", "--set data.table.transform=null");
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(run.where("data.table.transform.steps[2]"),
            "--set data.table.transform=null, data.table.transform.steps[2]");
  EXPECT_EQ(run.where("data.table.file"), "run.json:4:11, data.table.file");
  EXPECT_EQ(run.where("data.table.bad"), "run.json:3:20, data.table.bad");
  EXPECT_EQ(run.where("ranks.count"), "ranks.count");
  run.set("data.table.file", "", "COHORT_SET_DATA__TABLE__FILE");
  EXPECT_EQ(
      problem(),
      "a document does not describe a run (COHORT_SET_DATA__TABLE__FILE, data.table.file): expected a file "
      "with a table, got none");
  std::string const flag = "--set output.report=" + std::string(100, 'r');
  run.set("output.report", std::string(100, 'r'), flag);
  EXPECT_EQ(run.where("output.report"), "--set output.report=…, output.report");
  run.set("data", "table", "--set data=table");
  EXPECT_EQ(run.where("data.table.target"), "--set data=table, data.table.target");
  run.origins["output"] = "run.json:9:1";
  run.set("output.resume", "true", "--resume");
  run.set("data", "digits", "--set data=digits");
  EXPECT_EQ(
      problem(),
      "a document does not describe a run (run.json:9:1, output.checkpoints): expected a folder, because "
      "resume or checkpoint_every is set, got none");
}

/// Every member of the settings of a table that a message may name becomes the path of a field.
TEST(run_document, explains_errors_in_the_terms_of_documents) {
  run_document run = run_document::from_json(
      with("\"data\": {\"table\": {\"file\": \"a\", \"target\": \"t\"}}"), "run.json");
  for (std::string_view const field : detail::names_of_fields<table_settings>().all) {
    std::string const name(field);
    EXPECT_EQ(run.explain("x: expected y; see table_settings::" + name + ", got z"),
              "x: expected y; see data.table.format." + name + ", got z");
  }
  for (std::string_view const field : detail::names_of_fields<encoder_settings>().all)
    EXPECT_EQ(run.explain("encoder_settings::" + std::string(field)), "data.table." + std::string(field));
  EXPECT_EQ(
      run.explain(
          "a value is not a valid class label (a.csv, column t, row 1): expected a whole number from 0; "
          "for a number to predict, set .regression = true, got 0.5"),
      "a value is not a valid class label (a.csv, column t, row 1): expected a whole number from 0; for a "
      "number to predict, set data.table.regression: true, got 0.5");
  EXPECT_EQ(
      run.explain("this character cannot have this meaning in a table (table_settings::decimal): expected x"),
      "this character cannot have this meaning in a table (run.json:1:114, data.table.format.decimal): "
      "expected x");
  EXPECT_EQ(run.explain("x (fit, accumulate): y; fit_settings::blocks, .sharding = sharding::local"),
            "x (fit, accumulate): y; training.blocks, training.sharding: local");
  // Files, functions and numbers are no fields.
  for (char const* const plain :
       {"cannot read the file (data.csv): no such file", "a b (data.csv:1:2, column c): x",
        "x (layers[2]): gzip::read_file of cohort/zlib.hpp, a.size = 3, 1.5", "", "x (", "x ()"})
    EXPECT_EQ(run.explain(plain), plain);
  run.set("data", R"({"series": {"file": "s.csv", "length": 3}})", "--set data");
  EXPECT_EQ(run.explain("see table_settings::missing"), "see data.series.format.missing");
  EXPECT_EQ(run.explain("a (window_settings::length): b"), "a (--set data, data.series.length): b");
  run.set("optimizer.average_decay", "0.5", "--set o");
  EXPECT_EQ(run.explain("a (training_settings::average_decay): b"),
            "a (--set o, optimizer.average_decay): b");
  EXPECT_EQ(run.explain("see training_settings::workers"), "see training.workers");
  EXPECT_EQ(run.explain("a (weighted_by_class): b"), "a (training.class_weights): b");
  run.set("training.class_weights", "[1, 2]", "--set w");
  EXPECT_EQ(run.explain("a (weighted_by_class): b"), "a (--set w, training.class_weights): b");
  EXPECT_EQ(run.explain("a (metric rmse): b"), "a (training.metrics, metric rmse): b");
  run.set("training.early_stopping.metric", "rmse", "--set e");
  EXPECT_EQ(run.explain("a (metric rmse): b"), "a (--set e, training.early_stopping.metric, metric rmse): b");
  run.set("training.metrics", R"(["auc"])", "--set m");
  EXPECT_EQ(run.explain("a (metric auc): b"), "a (--set m, training.metrics, metric auc): b");
  std::string const notice = "a (b.png): orientation 6; .apply_exif_orientation = true shows it";
  run.set("data", R"({"images": {"folder": "photos"}})", "--set data");
  EXPECT_EQ(run.explain(notice),
            "a (b.png): orientation 6; data.images.apply_exif_orientation: true shows it");
  run.set("data", R"({"records": {"files": ["a.tar"], "classes": 2}})", "--set data");
  EXPECT_EQ(run.explain(notice),
            "a (b.png): orientation 6; data.records.content.images.apply_exif_orientation: true shows it");
}

// ---- every field with a wrong value ---------------------------------------------------------------------

/// Visits the fields of a JSON Schema: their paths, and documents with values that the schema refuses.
class wrong_documents {
 public:
  /// `visit` receives the path of a field, as in messages, and a document.
  using visitor = std::function<void(std::string const& path, std::string const& text)>;

  wrong_documents(io::json_value root, visitor visit) : root_(root), visit_(std::move(visit)) {
    for (io::json_value const field : root.at("properties").items())
      if (field.key() != "$schema") add(field, {std::string(field.key()), quoted(field.key()) + ": ", ""});
  }

 private:
  /// A value in a document: its path, and the text before and after it.
  struct place {
    std::string path, before, after;
  };

  static std::string quoted(std::string_view key) { return '"' + std::string(key) + '"'; }

  /// A document with `value` on a line of its own.
  void visit(place const& at, std::string const& value) const {
    constexpr std::string_view network = "\"network\": {\"layers\": [{\"input\": [4]}]}, ";
    std::string text = "{";
    if (!at.path.starts_with("version")) text += "\"version\": 1, ";
    if (!at.path.starts_with("network")) text += network;
    visit_(at.path, text + at.before + '\n' + value + at.after + '}');
  }

  void add(io::json_value schema, place const& at) {
    if (auto const reference = schema.find("$ref")) {
      std::string const name(reference->string().substr(8));
      if (++depths_[name] <= 2) add(root_.at("$defs").at(name), at);
      --depths_[name];
      return;
    }
    if (auto const alternatives = schema.find("anyOf")) {
      visit(at, "[[true]]");
      for (io::json_value const one : alternatives->items())
        if (!one.find("enum") && !is_null_choice(one)) add(one, at);
      return;
    }
    if (schema.find("const")) return visit(at, "2");
    if (schema.find("enum")) {
      visit(at, "\"no such word\"");
      return visit(at, "[[true]]");
    }
    std::string const type(schema.at("type").string());
    visit(at, type == "array" ? "{\"a\": [true]}" : "[[true]]");
    if (type == "array" && at.path == "network.layers")  // after an input, which a network begins with
      add(schema.at("items"), {at.path + "[1]", at.before + "[{\"input\": [4]}, ", "]" + at.after});
    else if (type == "array" && !at.path.starts_with("network.layers["))  // those have a fixed length
      add(schema.at("items"), {at.path + "[0]", at.before + "[", "]" + at.after});
    if (type == "integer" || type == "number") add_bounds(schema, at);
    if (type != "object") return;
    if (schema.find("maxProperties"))  // a choice
      visit(at, "{\"no_such_name\": {}}");
    else
      visit({at.path + ".no_such_field", at.before + "{\"no_such_field\": ", "}" + at.after}, "1");
    for (io::json_value const field : schema.at("properties").items())
      add(field, {at.path + '.' + std::string(field.key()), at.before + "{" + quoted(field.key()) + ": ",
                  "}" + at.after});
  }

  void add_bounds(io::json_value schema, place const& at) const {
    if (auto const least = schema.find("minimum"); least && least->number() > -1e15)
      visit(at, std::to_string(static_cast<std::int64_t>(least->number()) - 1));
    if (auto const above = schema.find("exclusiveMinimum")) visit(at, std::to_string(above->number()));
    if (auto const most = schema.find("maximum"); most && most->number() < 1e15)
      visit(at, std::to_string(static_cast<std::int64_t>(most->number()) + 1));
    if (auto const below = schema.find("exclusiveMaximum")) visit(at, std::to_string(below->number()));
  }

  /// Null, or a choice as an object of names with the value null.
  static bool is_null_choice(io::json_value schema) {
    auto const properties = schema.find("properties");
    bool const has_fields = properties && properties->size() > 0;
    auto const type = (has_fields ? *properties->items().begin() : schema).find("type");
    return type && type->string() == "null";
  }

  io::json_value root_;
  visitor visit_;
  std::map<std::string, int> depths_;
};

TEST(run_document, reports_line_and_path_of_each_field_with_a_wrong_value) {
  io::json_document const schema = io::parse_json(run_document_schema(), "schema");
  int documents = 0;
  std::set<std::string> paths;
  wrong_documents(schema.root(), [&](std::string const& path, std::string const& text) {
    ++documents;
    paths.insert(path);
    std::string const message = refused(text);
    EXPECT_NE(message.find("(run.json:2:"), std::string::npos) << text << '\n' << message;
    EXPECT_NE(message.find(", $." + path), std::string::npos) << text << '\n' << message;
    EXPECT_NE(message.find("): expected "), std::string::npos) << text << '\n' << message;
    for (char const* const foreign : {"::", "json_value", "nullptr"})
      EXPECT_EQ(message.find(foreign), std::string::npos) << message;
  });
  for (char const* const path :
       {"data.table.format.decimal", "data.table.transform.schema[0].type", "optimizer.rule.adam.beta1",
        "optimizer.rule.sgd.learning_rate.step.every", "network.layers[1].conv2d.filters", "training.batch",
        "strategy.averaging.every", "ranks.deadline", "output.keep", "evaluation.top"})
    EXPECT_TRUE(paths.contains(path)) << path;
  EXPECT_GT(documents, 1000);
}

TEST(run_document, has_a_field_for_every_member_of_the_settings) {
  run_document run = run_document::from_json(lenet_text);
  std::string const text = to_json(run);
  // Members without a field: log of training_settings, whose member tune is a flag; validation, metrics and
  // listeners of fit_settings. `optimizer` is an object that also has the fields plateau and average_decay,
  // the latter only if it is not 0. `training` also has metrics, class_weights and early_stopping.
  EXPECT_EQ(size_at(text, {"optimizer"}) + size_at(text, {"initial"}) + size_at(text, {"training"}),
            members_of<optimizer_settings>() + members_of<training_settings>() - 3
                + members_of<fit_settings>() - 3 + 3);
  EXPECT_EQ(size_at(text, {"normalise"}), members_of<normalisation_settings>());
  EXPECT_EQ(size_at(text, {"evaluation"}), members_of<evaluation_settings>() - 1);  // sharding has no field
  EXPECT_EQ(size_at(text, {"ranks"}), members_of<rank_settings>());
  EXPECT_EQ(size_at(text, {"output"}), members_of<output_settings>());
  EXPECT_EQ(size_at(text, {"network"}), members_of<network_source>());
  EXPECT_EQ(size_at(text, {"data", "digits"}), members_of<digits_source>());
  run.set("optimizer.plateau", "{}", "");
  run.set("training.early_stopping", "{}", "");
  run.set("optimizer.layers", R"([{"layer": "a"}])", "");
  run.set("strategy", "allreduce", "");
  run.set("data", "table", "");
  std::string const other = to_json(run);
  EXPECT_EQ(size_at(other, {"optimizer", "plateau"}), members_of<reduce_on_plateau>());
  EXPECT_EQ(size_at(other, {"training", "recompute"}), members_of<recomputation>());
  // on_best and lines have no field.
  EXPECT_EQ(size_at(other, {"training", "early_stopping"}),
            members_of<early_stopping_source>() - 1 + members_of<early_stopping_settings>() - 2);
  EXPECT_EQ(size_at(other, {"training", "blocks"}), members_of<block_shuffle>());
  EXPECT_EQ(size_at(other, {"strategy", "allreduce"}), members_of<allreduce>());
  EXPECT_EQ(size_at(other, {"data", "table"}),
            members_of<table_source>() - 1 + members_of<encoder_settings>() - 1);  // log has no field
  // Schemas set optional_columns, may_be_empty and out_of_range_is_text.
  EXPECT_EQ(size_at(other, {"data", "table", "format"}), members_of<table_settings>() - 3);
  io::json_document const parsed = io::parse_json(other);
  EXPECT_EQ(static_cast<int>(parsed.root().at("optimizer").at("layers").at(std::size_t{0}).size()),
            members_of<layer_override>());
  auto const strategy = [&](std::string_view name) {
    run.set("strategy", name, "");
    return size_at(to_json(run), {"strategy", name});
  };
  EXPECT_EQ(strategy("averaging"), members_of<parameter_averaging>());
  EXPECT_EQ(strategy("sharing"), members_of<threshold_sharing>() - 1 + members_of<sharing_settings>());
  EXPECT_EQ(strategy("top_k"), members_of<top_k_sharing>() - 1 + members_of<sharing_settings>());
  auto const data = [&](std::string_view name) {
    run.set("data", name, "");
    return size_at(to_json(run), {"data", name});
  };
  EXPECT_EQ(data("mnist"), members_of<mnist_source>());
  EXPECT_EQ(data("idx"), members_of<idx_source>());
  EXPECT_EQ(data("text"), members_of<text_source>());
  EXPECT_EQ(data("series"), members_of<series_source>() - 1 + members_of<window_settings>());
  int const options = members_of<image_options>() - 1 + members_of<image_options::changes>();
  EXPECT_EQ(data("images"), members_of<images_source>() - 1 + options);
  EXPECT_EQ(data("records"), members_of<records_source>());
  // labels, keyed and max_file_bytes have no field; spectrogram is no object.
  int const sounds = members_of<audio::sound_settings>() - 4 + members_of<audio::mel_settings>();
  EXPECT_EQ(data("audio"), members_of<audio_source>() - 1 + sounds);
  run.set("data", "records", "");
  auto const content = [&](std::string_view name) {
    run.set("data.records.content", name, "");
    return size_at(to_json(run), {"data", "records", "content", name});
  };
  EXPECT_EQ(content("images"), members_of<image_content>() - 1 + options);
  EXPECT_EQ(content("numbers"), members_of<number_content>());
  EXPECT_EQ(content("sounds"), members_of<sound_content>() - 1 + sounds);
  run.set("network.import.inputs", R"([{"name": "x", "extents": [3]}])", "");
  std::string const imported = to_json(run);
  EXPECT_EQ(size_at(imported, {"network", "import"}), members_of<import_source>());
  EXPECT_EQ(size_at(imported, {"remote"}), members_of<remote_settings>());
}

TEST(run_document, lists_every_member_in_field_tables) {
  EXPECT_EQ(members_without_field<optimizer_settings>(), 0);
  EXPECT_EQ(members_without_field<outer_step>(), 0);
  EXPECT_EQ(members_without_field<plateau>(), 0);
  EXPECT_EQ(members_without_field<column_schema>(), 0);
  EXPECT_EQ(members_without_field<transform_pipeline>(), 0);
  [&]<class... Step>(std::variant<Step...> const&) {
    EXPECT_EQ((members_without_field<Step>() + ...), 0);
  }(transform_step());
}

TEST(run_document, refuses_fields_that_do_not_fit_the_images) {
  run_document run = run_document::from_json(lenet_text);
  run.set("data", R"({"images": {"folder": "photos", "mixup": 0.2}})", "test");
  EXPECT_NO_THROW(run.check());
  run.set("training.class_weights", "balanced", "test");
  EXPECT_NE(refusal_of<setting_error>([&] { run.check(); }).find("training.class_weights"),
            std::string::npos);
  run.set("data.images.mixup", "0", "test");
  run.set("data.images.bad", "skip", "test");
  EXPECT_NO_THROW(run.check());
  run.set("output.predictions", "test.csv", "test");
  EXPECT_NE(refusal_of<setting_error>([&] { run.check(); }).find("damaged examples"), std::string::npos);
  run.set("data.images.bad", "stop", "test");
  EXPECT_NO_THROW(run.check());
  run.set("data", R"({"audio": {"folder": "sounds", "bad": "skip"}})", "test");
  EXPECT_NE(refusal_of<setting_error>([&] { run.check(); }).find("damaged examples"), std::string::npos);
  run.set("data.audio.bad", "stop", "test");
  EXPECT_NO_THROW(run.check());
  run.set("output.predictions", "test.txt", "test");
  EXPECT_NE(refusal_of<setting_error>([&] { run.check(); }).find(".csv or .npy"), std::string::npos);
}

TEST(run_document, selects_an_outer_step_by_name) {
  run_document run = run_document::from_json(lenet_text);
  run.set("strategy.averaging.outer", "nesterov_bmuf", "--set");
  EXPECT_EQ(std::get<parameter_averaging>(run.strategy).outer, outer_step(outer::bmuf{.nesterov = true}));
  EXPECT_NE(refusal_of<data_error>([&] {
              run.set("strategy.averaging.outer", "bmf", "--set");
            }).find("plain, bmuf, nesterov_bmuf, diloco; the nearest name is bmuf"),
            std::string::npos);
}

/// Random documents.
struct chance {
  std::mt19937_64 engine;

  int below(int n) { return static_cast<int>(engine() % static_cast<std::uint64_t>(n)); }
  bool coin() { return below(2) == 1; }
  double real() { return std::ldexp(static_cast<double>(engine() >> 11), -below(60) - 40); }
  double share() { return std::ldexp(static_cast<double>((engine() >> 12) + 1), -53); }  // in (0, 1)
  template <class T>
  T of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }
  std::string text() {
    std::string made;
    for (int k = below(5); k > 0; --k)
      made += of<char const*>({"a", " ", "ü", "\"", "\\", "\n", "#", "yes", "1", ":"});
    return made;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> made;
    for (int k = below(3); k > 0; --k) made.push_back(text());
    return made;
  }
  template <class Make>
  auto maybe(Make make) -> std::optional<decltype(make())> {
    if (coin()) return std::nullopt;
    return make();
  }

  rate_schedule rate() {
    auto const unit = of({schedule::unit::step, schedule::unit::epoch});
    std::int64_t const length = 1 + below(1000);
    schedule::map map{.by = unit};
    map.values[0] = {0, share()};
    map.values[1] = {1 + below(9), share()};
    rate_schedule made = share();
    switch (below(9)) {
      case 0:
        made = schedule::step{share(), share(), length, unit};
        break;
      case 1:
        made = schedule::exponential{share(), share(), unit};
        break;
      case 2:
        made = schedule::inverse{share(), share(), real(), unit};
        break;
      case 3:
        made = schedule::polynomial{share(), length, real(), unit};
        break;
      case 4:
        made = schedule::sigmoid{share(), -share(), length, unit};
        break;
      case 5:
        made = map;
        break;
      case 6:
        made = schedule::cosine{share(), length, share(), coin(), 1 + share(), unit};
        break;
      case 7:
        made = schedule::one_cycle{share(), share(), share(), length, share(), unit};
        break;
      default:
        break;
    }
    if (coin())
      made = schedule::warm_up{1 + below(9), made, of({schedule::unit::step, schedule::unit::epoch})};
    return made;
  }
  cohort::optimizer_rule rule() {
    double const a = share(), b = share(), e = share();
    switch (below(16)) {
      case 0:
        return sgd{rate()};
      case 1:
        return momentum{rate(), coin() ? rate_schedule(a) : rate()};
      case 2:
        return nesterov{rate(), a};
      case 3:
        return adam{rate(), a, b, e};
      case 4:
        return adamw{rate(), a, b, e, share()};
      case 5:
        return amsgrad{rate(), a, b, e};
      case 6:
        return adamax{rate(), a, b, e};
      case 7:
        return nadam{rate(), a, b, e};
      case 8:
        return adabelief{rate(), a, b, e};
      case 9:
        return adagrad{rate(), e, share()};
      case 10:
        return adadelta{rate(), a, e};
      case 11:
        return rmsprop{rate(), a, e};
      case 12:
        return lion{rate(), a, b, share()};
      case 13:
        return lamb{rate(), a, b, e, share()};
      case 14:
        return lars{rate(), a, share(), e};
      default:
        return no_op{};
    }
  }
  initialiser initial() {
    return of<initialiser>({init::zeros{}, init::ones{}, init::constant{-real()}, init::normal{real()},
                            init::uniform{real()}, init::orthogonal{}, init::lecun_uniform{},
                            init::identity{}});
  }
  gradient_normalisation normalisation() {
    return of<gradient_normalisation>(
        {normalise::none{}, normalise::renormalize_l2_per_layer{}, normalise::clip_elementwise{share()},
         normalise::clip_l2_per_layer{share()}, normalise::clip_global_norm{share()}});
  }
  parameter_constraint constrained() {
    return of<parameter_constraint>(
        {{}, constraint::max_norm{share()}, constraint::unit_norm{}, constraint::non_negative{}});
  }
  sharing_settings sharing() {
    sharing_settings s{.share = of({share::gradient, share::update}),
                       .mean = coin(),
                       .warm_up = below(9),
                       .sync_buffers = below(9),
                       .route = of({route::by_size, route::to_all}),
                       .group = of({sharing_group::process, sharing_group::rank}),
                       .max_staleness = below(5),
                       .slower_if_stale = coin()};
    if (s.share == share::update && coin()) s.max_staleness = unbounded;
    return s;
  }
  using share_enum = cohort::share;
  table_settings table() {
    return {.separator = of({'\0', ';', '\t'}),
            .header = maybe([&] { return coin(); }),
            .columns = texts(),
            .number_columns = texts(),
            .text_columns = texts(),
            .number_type = of({element_type::f32, element_type::f64}),
            .missing = of({missing_values::refuse, missing_values::keep, missing_values::drop}),
            .missing_texts = texts(),
            .trim = coin()};
  }
  transform_pipeline pipeline_of_steps() {
    namespace p = pipeline;
    transform_pipeline made{.schema = {{{.name = text(), .lowest = maybe([&] { return -real(); })},
                                        {.name = text(), .type = column_type::category, .values = texts()}}}};
    std::vector<transform_step> const known{
        p::filter{text()},
        p::derive{text(), text()},
        p::categories{texts(), text()},
        p::normalise{texts(), of({rescaling::standardise, rescaling::min_max})},
        p::impute{texts(), of({p::replacement::median, p::replacement::constant}), real(), text()},
        p::windows{below(9), below(9), coin()}};
    for (int k = below(4); k > 0; --k)
      made.steps.push_back(known[static_cast<std::size_t>(below(static_cast<int>(known.size())))]);
    return made;
  }
  graph layers() {
    int const units = 1 + below(9);
    initialiser const how = initial();
    return graph::build([&](builder& net) {
      tensor const x = net.input({2, 12 + below(9), 12}, coin() ? "x" : "");
      tensor const a = x
                       | conv2d{.filters = units,
                                .kernel = {1 + below(3), 3},
                                .padding = of<padding>({padding::valid, padding::same, padding(0, 0, 1, 2)}),
                                .bias = coin(),
                                .settings = {.weights = how}};
      tensor const y = a | relu{} | global_avg_pool{} | dropout{.rate = share()};
      tensor const z = y | dense{.units = units, .name = coin() ? "second \"branch\"" : ""};
      return (coin() ? join(add{}, y, z) : z) | dense{.units = 3} | softmax_cross_entropy{};
    });
  }

  image_options images() {
    using fit = image_options::fit;
    return {.channels = of({1, 3}),
            .height = below(9),
            .width = below(9),
            .other_sizes = of({fit::refuse, fit::stretch, fit::cover}),
            .mean = {share(), -share()},
            .deviation = {share()},
            .augment = {.padding = below(9),
                        .flip = coin(),
                        .rotation = 180 * share(),
                        .brightness = share(),
                        .contrast = share(),
                        .saturation = share(),
                        .hue = share() / 2,
                        .erasing = share(),
                        .mixup = share(),
                        .cutmix = share()},
            .cache = coin(),
            .salvage = coin(),
            .apply_exif_orientation = coin()};
  }

  audio::sound_settings sounds() {
    return {.seconds = share(),
            .spectrogram = {.rate = 1 + below(9),
                            .window = 1 + below(9),
                            .hop = 1 + below(9),
                            .bands = 1 + below(9),
                            .low = share(),
                            .high = share(),
                            .scale = of({audio::mel_scale::slaney, audio::mel_scale::htk}),
                            .unit_area = coin(),
                            .edges = of({audio::padding::zeros, audio::padding::reflect}),
                            .floor = share()}};
  }

  run_document document() {
    run_document run;
    if (coin())
      run.network = {.layers = layers(),
                     .parameters = coin(),
                     .optimizer_state = coin(),
                     .weights = text(),
                     .names = text()};
    else
      run.network = {.model = text(), .parameters = coin(), .optimizer_state = coin()};
    if (coin())
      run.network.imported = import_source{.file = text(),
                                           .weights = text(),
                                           .inputs = {{text(), {1 + below(9), 1 + below(9)}}},
                                           .loss = text()};
    run.remote = {texts(), text(), std::chrono::milliseconds(1 + below(99'999))};
    switch (below(9)) {
      case 0:
        run.data = digits_source{1 + below(99), 1 + below(99), engine()};
        break;
      case 1:
        run.data = mnist_source{text()};
        break;
      case 2:
        run.data = idx_source{text(), text(), text(), text(), below(9)};
        break;
      case 3:
        run.data = table_source{
            .file = text(),
            .test_file = text(),
            .test_fraction = share(),
            .split_seed = engine(),
            .stratified = coin(),
            .encode = {texts(), text(), coin(), texts(), coin(),
                       of({imputation::refuse, imputation::median, imputation::constant}), -real()},
            .format = table(),
            .transform = maybe([&] { return pipeline_of_steps(); }),
            .bad = of({bad_record::stop, bad_record::skip}),
            .weight = text()};
        break;
      case 4: {
        text_source made{
            .file = text(), .length = 1 + below(99), .vocabulary = below(9), .test_fraction = share()};
        switch (below(5)) {
          case 0:
            made.tokens = byte_tokens{};
            break;
          case 1:
            made.tokens = byte_pair_tokens{256 + below(9)};
            break;
          case 2:
            made.tokens = gpt2_tokens{text(), text()};
            break;
          case 3:
            made.tokens = saved_tokens{text()};
            break;
          default:
            break;
        }
        run.data = made;
        break;
      }
      case 5:
        run.data =
            series_source{.file = text(),
                          .columns = texts(),
                          .window = {1 + below(9), {1 + below(9), 1 + below(9)}, texts(), 1 + below(9)},
                          .test_fraction = share(),
                          .format = table()};
        break;
      case 6:
        run.data = images_source{.folder = text(),
                                 .test_folder = text(),
                                 .test_fraction = share(),
                                 .split_seed = engine(),
                                 .words = text(),
                                 .options = images()};
        break;
      case 7:
        run.data = audio_source{.folder = text(),
                                .test_folder = text(),
                                .test_fraction = share(),
                                .split_seed = engine(),
                                .bad = of({bad_record::stop, bad_record::skip}),
                                .settings = sounds()};
        break;
      default: {
        using kind = records_source::kind;
        records_source made{.format = of({kind::webdataset, kind::tfrecord, kind::lmdb, kind::sequence_file}),
                            .files = texts(),
                            .test_files = texts(),
                            .words = text(),
                            .cache = text(),
                            .bad = of({bad_record::stop, bad_record::skip}),
                            .weight = text()};
        if (coin())
          made.content = sound_content{.sound = text(), .label = text(), .settings = sounds()};
        else if (coin())
          made.content = image_content{.image = texts(), .label = text(), .options = images()};
        else
          made.content = number_content{.extents = {1 + below(9), 1 + below(9)},
                                        .values = text(),
                                        .label = text(),
                                        .type = of({element_type::f32, element_type::u8}),
                                        .scale = -real()};
        if (coin()) made.classes = texts();
        if (coin()) made.classes = below(9);
        run.data = made;
      }
    }
    run.normalise = {of({rescaling::none, rescaling::min_max}),
                     of({rescaling::none, rescaling::standardise})};
    training_settings& s = run.training;
    s.optimizer.rule = optimizer_rule();
    if (coin()) s.optimizer.bias_rule = optimizer_rule();
    s.optimizer.l1 = real(), s.optimizer.l2 = real(), s.optimizer.bias_l1 = real(),
    s.optimizer.bias_l2 = real();
    s.optimizer.normalisation = normalisation();
    s.optimizer.constraint = constrained(), s.optimizer.bias_constraint = constrained();
    s.optimizer.decay_from_rank = below(3);
    for (int k = below(3); k > 0; --k)
      s.optimizer.layers.push_back({.layer = text(),
                                    .rule = maybe([&] { return optimizer_rule(); }),
                                    .bias_rule = maybe([&] { return optimizer_rule(); }),
                                    .l1 = maybe([&] { return real(); }),
                                    .l2 = maybe([&] { return real(); }),
                                    .bias_l1 = maybe([&] { return real(); }),
                                    .bias_l2 = maybe([&] { return real(); }),
                                    .constraint = maybe([&] { return constrained(); }),
                                    .bias_constraint = maybe([&] { return constrained(); }),
                                    .frozen = maybe([&] { return coin(); }),
                                    .decays = maybe([&] { return coin(); })});
    if (coin()) s.plateau = {share(), below(9), share(), below(9), share()};
    s.weights = initial(), s.bias = initial();
    s.seed = engine();
    s.workers = below(4), s.threads = 1 + below(4);
    s.max_bytes = engine() >> 1;
    s.recompute = {coin(), texts()};
    s.not_finite = of({when_not_finite::stop, when_not_finite::skip});
    s.deadline = std::chrono::milliseconds(1 + below(1'000'000));
    run.fit = {.batch = 1 + below(99),
               .epochs = below(9),
               .shuffle = coin(),
               .prefetch = below(9),
               .bucket = below(9),
               .readers = 1 + below(9),
               .accumulate = 1 + below(9),
               .sharding = of({sharding::global, sharding::local})};
    run.tune = coin();
    if (coin()) run.metrics = {"accuracy", "top_k", "r2"};
    if (coin()) run.weights_of_classes.balanced = true;
    if (coin()) run.weights_of_classes = {.values = {share(), real()}};
    if (coin())
      run.early_stopping = early_stopping_source{.metric = of<char const*>({"loss", "auc"}),
                                                 .settings = {.patience = 1 + below(9),
                                                              .minimum_delta = share(),
                                                              .every = 1 + below(9),
                                                              .restore_best = coin()}};
    double const hi = share();
    switch (below(6)) {
      case 0:
        run.strategy = no_strategy{};
        break;
      case 1:
        run.strategy = allreduce{below(9), of({when_diverged::stop, when_diverged::repair}),
                                 maybe([&] { return element_type::bf16; }), coin()};
        break;
      case 2:
        run.strategy = parameter_averaging{
            1 + below(9), real(), coin(), {share(), maybe([&] { return share(); }), coin()}, coin()};
        break;
      case 3:
        run.strategy = threshold_sharing{
            of<threshold_policy>({threshold::fixed{share()},
                                  threshold::adaptive{share(), hi / 2, hi, share()},
                                  threshold::target_density{share(), share(), share()},
                                  threshold::quantile{share(), 1 + below(999)}}),
            of<residual_policy>({residual::none{}, residual::clip{1 + share(), 1 + below(9)},
                                 residual::decay{share(), 1 + below(9)}}),
            coin(), sharing()};
        break;
      case 4:
        run.strategy = top_k_sharing{share(), sharing()};
        break;
      default:
        break;
    }
    run.backend = run_document::backends()[static_cast<std::size_t>(below(7))];
    run.ranks = {1 + below(9), of<char const*>({"auto", "threads", "nccl"}),
                 std::chrono::milliseconds(1 + below(99'999)), std::chrono::milliseconds(1 + below(99'999))};
    run.evaluation = {.batch = 1 + below(999), .top = 1 + below(5), .readers = 1 + below(5)};
    run.output = {.model = text(),
                  .onnx = text(),
                  .tokens = text(),
                  .predictions = text(),
                  .checkpoints = text(),
                  .checkpoint_every = below(99),
                  .keep = 1 + below(9),
                  .max_age = below(9),
                  .resume = coin(),
                  .report = text()};
    return run;
  }
};

TEST(run_document, round_trips_random_documents) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    run_document const run = chance{std::mt19937_64(seed)}.document();
    std::string const text = to_json(run);
    run_document const again = run_document::from_json(text);
    ASSERT_EQ(to_json(again), text);
    EXPECT_EQ(again.training.optimizer, run.training.optimizer);
    EXPECT_EQ(again.training.plateau, run.training.plateau);
    EXPECT_EQ(again.training.weights, run.training.weights);
    if (run.network.layers) {
      EXPECT_EQ(again.network.layers->hash(), run.network.layers->hash());
    }
  }
}

}  // namespace run_document_test
