// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/caffe/caffe_solver.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace caffe_solver_test {

using namespace cohort;

caffe_solver solver_of(std::string const& text) {
  return caffe_solver::from(
      parse_prototxt("net_param { name: \"net\" } base_lr: 0.5 max_iter: 100 " + text, "solver.prototxt"));
}

std::string refusal(std::string const& text) {
  return refusal_of<data_error>([&] { solver_of(text); });
}

/// The learning rate of a step.
double rate(std::string const& text, std::int64_t step) {
  return solver_of(text).optimizer().rule.learning_rate().value(step, 0);
}

// The formulas of Solver::GetLearningRate.
TEST(caffe_solver, has_the_learning_rate_of_each_policy) {
  std::string const all = "gamma: 0.1 power: 2 stepsize: 10 stepvalue: 5 stepvalue: 20 lr_policy: ";
  for (std::int64_t const step : {0, 4, 5, 9, 10, 25, 99}) {
    auto const x = static_cast<double>(step);
    EXPECT_DOUBLE_EQ(rate(all + "\"fixed\"", step), 0.5);
    EXPECT_DOUBLE_EQ(rate(all + "\"step\"", step), 0.5 * std::pow(0.1, std::floor(x / 10)));
    EXPECT_DOUBLE_EQ(rate(all + "\"exp\"", step), 0.5 * std::pow(0.1, x));
    EXPECT_DOUBLE_EQ(rate(all + "\"inv\"", step), 0.5 * std::pow(1 + 0.1 * x, -2));
    EXPECT_NEAR(rate(all + "\"multistep\"", step), 0.5 * (step < 5 ? 1 : step < 20 ? 0.1 : 0.01), 1e-15);
    EXPECT_DOUBLE_EQ(rate(all + "\"poly\"", step), 0.5 * std::pow(1 - x / 100, 2));
    EXPECT_DOUBLE_EQ(rate(all + "\"sigmoid\"", step), 0.5 / (1 + std::exp(-0.1 * (x - 10))));
  }
}

TEST(caffe_solver, has_each_type_by_its_name_and_its_old_number) {
  std::string const fixed = "lr_policy: \"fixed\" momentum2: 0.99 rms_decay: 0.98 delta: 0.001 ";
  auto const rule = [&](std::string const& text) { return solver_of(fixed + text).optimizer().rule; };
  EXPECT_EQ(rule(""), optimizer_rule(sgd{0.5}));
  EXPECT_EQ(rule("momentum: 0.9"), optimizer_rule(momentum{.learning_rate = 0.5, .momentum = 0.9}));
  optimizer_rule const with_nesterov = nesterov{.learning_rate = 0.5, .momentum = 0.9};
  EXPECT_EQ(rule("momentum: 0.9 type: \"Nesterov\""), with_nesterov);
  EXPECT_EQ(rule("momentum: 0.9 solver_type: NESTEROV"), with_nesterov);
  EXPECT_EQ(rule("momentum: 0.9 solver_type: 1"), with_nesterov);
  EXPECT_EQ(rule("type: \"AdaGrad\""),
            optimizer_rule(adagrad{.learning_rate = 0.5, .epsilon = 0.001, .initial = 0}));
  EXPECT_EQ(rule("type: \"RMSProp\""),
            optimizer_rule(rmsprop{.learning_rate = 0.5, .rho = 0.98, .epsilon = 0.001}));
  EXPECT_EQ(rule("type: \"AdaDelta\" momentum: 0.95"),
            optimizer_rule(adadelta{.learning_rate = 0.5, .rho = 0.95, .epsilon = 0.001}));
  EXPECT_EQ(rule("type: \"Adam\" momentum: 0.9"),
            optimizer_rule(
                adam{.learning_rate = 0.5, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 0, .epsilon_hat = 0.001}));
  for (char const* const type : {"type: \"AdaGrad\"", "solver_type: ADAGRAD"}) {
    std::string const text = refusal("lr_policy: \"fixed\" " + std::string(type) + " momentum: 0.9");
    EXPECT_TRUE(text.starts_with("AdaGrad has no momentum (solver.prototxt:1:")) << text;
    EXPECT_TRUE(text.ends_with(", field momentum): expected 0, got 0.9")) << text;
  }
  EXPECT_NE(refusal("lr_policy: \"fixed\" type: \"Adamm\"").find("the nearest name is Adam"),
            std::string::npos);
  EXPECT_FALSE(refusal("lr_policy: \"fixed\" type: \"SGD\" solver_type: SGD").empty());
}

TEST(caffe_solver, keeps_the_rates_of_earlier_steps_in_the_velocity_if_the_rate_changes) {
  auto const rule = solver_of("lr_policy: \"exp\" gamma: 0.9 momentum: 0.9").optimizer().rule;
  EXPECT_EQ(rule.number("rate_in_velocity"), 1);
}

TEST(caffe_solver, decays_and_clips_as_caffe) {
  optimizer_settings const made =
      solver_of("lr_policy: \"fixed\" weight_decay: 0.01 clip_gradients: 6 iter_size: 3").optimizer();
  EXPECT_EQ(made.l2, 0.01);
  EXPECT_EQ(made.bias_l2, 0.01);
  EXPECT_EQ(made.normalisation, gradient_normalisation(normalise::clip_global_norm{.at = 2}));
  optimizer_settings const sparse =
      solver_of("lr_policy: \"fixed\" weight_decay: 0.01 regularization_type: \"L1\"").optimizer();
  EXPECT_EQ(sparse.l1, 0.01);
  EXPECT_EQ(sparse.bias_l1, 0.01);
  EXPECT_EQ(sparse.l2, 0);
  EXPECT_FALSE(refusal("lr_policy: \"fixed\" regularization_type: \"L3\"").empty());
}

TEST(caffe_solver, multiplies_the_rates_and_decays_of_layers) {
  caffe_model const net = import_caffe(
      parse_prototxt(
          "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: [1, 1, 8, 8] } } }"
          "layer { name: 'conv1' type: 'Convolution' bottom: 'data' top: 'conv1'"
          "  param { lr_mult: 1 decay_mult: 2 } param { lr_mult: 2 decay_mult: 0 }"
          "  convolution_param { num_output: 2 kernel_size: 3 } }"
          "layer { name: 'conv2' type: 'Convolution' bottom: 'conv1' top: 'conv2'"
          "  param { lr_mult: 0 } param { lr_mult: 0 } convolution_param { num_output: 2 kernel_size: 3 } }"
          "layer { name: 'ip1' type: 'InnerProduct' bottom: 'conv2' top: 'ip1'"
          "  inner_product_param { num_output: 2 } }",
          "net.prototxt"),
      "");
  optimizer_settings const made =
      solver_of("lr_policy: \"step\" gamma: 0.1 stepsize: 10 momentum: 0.9 weight_decay: 0.01")
          .optimizer(net);
  parameter_rule const weights = made.rule_of("conv1", parameter_role::weights),
                       bias = made.rule_of("conv1", parameter_role::biases),
                       others = made.rule_of("ip1", parameter_role::biases);
  EXPECT_EQ(weights.rule.learning_rate().value(10, 0), 0.5 * 0.1);
  EXPECT_EQ(bias.rule.learning_rate().value(10, 0), 0.1);
  EXPECT_EQ(weights.penalty, (penalties{0, 0.02}));
  EXPECT_EQ(bias.penalty, (penalties{0, 0}));
  EXPECT_EQ(others.penalty, (penalties{0, 0.01}));
  EXPECT_TRUE(made.rule_of("conv2", parameter_role::weights).frozen);
  EXPECT_FALSE(others.frozen);
}

// Caffe computes no gradient for a blob with lr_mult 0, so that clip_gradients does not count it.
TEST(caffe_solver, does_not_clip_by_gradients_of_blobs_without_a_rate) {
  caffe_model const net = import_caffe(
      parse_prototxt("layer { name: 'data' type: 'Input' top: 'data' top: 't' input_param {"
                     "  shape { dim: [1, 2] } shape { dim: [1, 1] } } }"
                     "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'"
                     "  param { lr_mult: 0 } inner_product_param { num_output: 1 } }"
                     "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip' bottom: 't' top: 'loss' }",
                     "net.prototxt"),
      "", {.state = {.phase = caffe_state::phases::train}});
  training_settings settings = net.model.settings;
  settings.optimizer =
      solver_of("lr_policy: \"step\" gamma: 0.1 stepsize: 10 momentum: 0.9 clip_gradients: 2").optimizer(net);
  training run = trainer<reference<double>>(net.model.network(), settings);
  std::vector<float> const x{3, 4}, t{5};
  tensor_view const input(x.data(), {1, 2}), target(t.data(), {1, 1});
  run.train_on(batch_view(input, target));  // gradients: -15 and -20 of the weights, -5 of the bias
  EXPECT_EQ(run.outputs_of({"ip"}, input)[0].values, std::vector<float>{0.5F * 2});
}

TEST(caffe_solver, reads_states_tests_and_snapshots) {
  caffe_solver const made = solver_of(
      "lr_policy: \"fixed\" test_iter: 10 test_interval: 50 test_initialization: false snapshot: 20 "
      "train_state { stage: \"a\" stage: \"b\" } test_state { level: 2 } random_seed: 7 solver_mode: CPU "
      "snapshot_format: HDF5 snapshot_after_train: false");
  ASSERT_EQ(made.tests.size(), 1U);
  EXPECT_EQ(made.tests[0].iterations, 10);
  EXPECT_EQ(made.test_interval, 50);
  EXPECT_FALSE(made.test_initialization);
  EXPECT_FALSE(made.snapshot_after_train);
  EXPECT_FALSE(made.uses_gpu);
  EXPECT_EQ(made.snapshot, 20);
  EXPECT_EQ(made.seed, 7U);
  EXPECT_EQ(made.train_state.stages, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(made.tests[0].state.level, 2);
  EXPECT_EQ(made.snapshot_prefix, "solver");
  ASSERT_EQ(made.notices.size(), 1U);
  EXPECT_NE(made.notices[0].find("snapshot_format"), std::string::npos);
  for (char const* const untested : {"test_iter: 0 test_interval: 5", "test_iter: 3 test_interval: 0"})
    EXPECT_EQ(solver_of("lr_policy: \"fixed\" " + std::string(untested)).tests.at(0).iterations, 0);
}

TEST(caffe_solver, reads_several_tests_in_the_order_of_caffe) {
  caffe_solver const solver = solver_of(
      "lr_policy: \"fixed\" test_interval: 5 test_iter: 3 test_iter: 4 test_net_param { name: \"own\" } "
      "test_state { stage: \"a\" } test_state { stage: \"b\" level: 1 }");
  ASSERT_EQ(solver.tests.size(), 2U);
  EXPECT_EQ(solver.tests[0].net.text("name"), "own");
  EXPECT_EQ(solver.tests[1].net.fields().size(), solver.train_net.fields().size());
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(solver.tests[k].iterations, 3 + static_cast<int>(k));
  EXPECT_EQ(solver.tests[0].state.stages, std::vector<std::string>{"a"});
  EXPECT_EQ(solver.tests[1].state.stages, std::vector<std::string>{"b"});
  EXPECT_EQ(solver.tests[1].state.level, 1);
}

TEST(caffe_solver, refuses_fields_by_their_name) {
  for (auto const& [text, name] :
       {std::pair{"lr_policy: \"fixed\" learning_rate: 1", "learning_rate"},
        {"lr_policy: \"cosine\"", "lr_policy"},
        {"", "lr_policy"},
        {"lr_policy: \"step\" gamma: 0.1", "stepsize"},
        {"lr_policy: \"multistep\" gamma: 0.1 stepvalue: 5 stepvalue: 4", "stepvalue"},
        {"lr_policy: \"multistep\" gamma: 0.1 stepvalue: [1, 2, 3, 4, 5, 6, 7, 8]", "stepvalue"},
        {"lr_policy: \"fixed\" snapshot_diff: true", "snapshot_diff"},
        {"lr_policy: \"fixed\" iter_size: 0", "iter_size"},
        {"lr_policy: \"fixed\" test_interval: 1 test_iter: 1 test_iter: 0", "test_iter"},
        {"lr_policy: \"fixed\" test_interval: 1 test_iter: 1 test_net_param {} test_net_param {}",
         "test_iter"},
        {"lr_policy: \"fixed\" test_interval: 1 test_iter: 1 test_state {} test_state {}", "test_state"},
        {"lr_policy: \"fixed\" train_state {} train_state {}", "train_state"},
        {"lr_policy: \"fixed\" solver_mode: TPU", "solver_mode"},
        {"lr_policy: \"fixed\" net: \"a.prototxt\"", "net"}})
    EXPECT_NE(refusal(text).find(name), std::string::npos) << text << ": " << refusal(text);
  for (std::string const field :
       {"lr_policy: \"", "lr_policy: \"fixed\" type: \"", "lr_policy: \"fixed\" solver_mode: \"",
        "lr_policy: \"fixed\" regularization_type: \""})
    EXPECT_NE(refusal(field + "\\033[31m\"").find("got \"\\u001b[31m\""), std::string::npos)
        << refusal(field + "\\033[31m\"");
  for (std::string const field :
       {"base_lr: -1", "base_lr: nan", "gamma: inf", "power: -1", "momentum: 1", "momentum2: 1",
        "rms_decay: -1", "delta: nan", "weight_decay: 1e39", "clip_gradients: nan"}) {
    std::string const name = field.substr(0, field.find(':'));
    std::string const text = "net_param { } lr_policy: \"inv\" " + field;
    prototxt_message message = parse_prototxt(text, "solver.prototxt");
    if (name != "base_lr") message.add({.name = "base_lr", .text = "1"});
    EXPECT_NE(refusal_of<data_error>([&] {
                caffe_solver::from(message);
              }).find("a field of the solver is out of range (solver.prototxt:1:"),
              std::string::npos)
        << field;
  }
}

TEST(caffe_solver, finds_the_network_beside_the_solver) {
  std::filesystem::path const folder = std::filesystem::path(testing::TempDir()) / "caffe_solver_test";
  std::filesystem::create_directories(folder);
  io::write_file((folder / "net.prototxt").string(), "name: \"found\"");
  io::write_file(
      (folder / "solver.prototxt").string(),
      "net: \"elsewhere/net.prototxt\" base_lr: 1 lr_policy: \"fixed\" test_iter: 1 test_interval: 1");
  caffe_solver const made = caffe_solver::read((folder / "solver.prototxt").string());
  EXPECT_EQ(made.train_net.text("name"), "found");
  EXPECT_EQ(made.tests.at(0).net.text("name"), "found");
  EXPECT_EQ(made.snapshot_prefix, (folder / "solver").string());
  io::write_file((folder / "solver.prototxt").string(),
                 "net: \"missing.prototxt\" base_lr: 1 lr_policy: \"fixed\"");
  EXPECT_THROW(caffe_solver::read((folder / "solver.prototxt").string()), file_error);
}

}  // namespace caffe_solver_test
