// SPDX-License-Identifier: Apache-2.0
// The programs of docs/caffe.md, and those for users of Caffe in docs/coming_from.md, identical to the pages
// (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/caffe/caffe_solver.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/cohort.hpp>
#include <cohort/io/file_writer.hpp>
#include <filesystem>
#include <vector>

namespace caffe_page_test {

using namespace cohort;

std::filesystem::path const golden = COHORT_SOURCE_DIR "/tests/golden/caffe";

TEST(docs_caffe, the_first_program_predicts) {
  std::filesystem::current_path(testing::TempDir());
  std::filesystem::copy_file(golden / "branches.prototxt", "deploy.prototxt");
  std::filesystem::copy_file(golden / "branches.caffemodel", "net.caffemodel");
  std::vector<float> const pixels(2 * 4 * 6 * 5, 0.5F);
  tensor_view const images(pixels.data(), {2, 4, 6, 5});
  // clang-format off
caffe_model const net = import_caffe("deploy.prototxt", "net.caffemodel");
training run = load_imported<reference<float>>(net.model);
auto const scores = run.predict(images);
  // clang-format on
  EXPECT_EQ(scores.count(), 2);
  std::filesystem::remove("deploy.prototxt");
  std::filesystem::remove("net.caffemodel");
}

TEST(docs_caffe, the_second_program_trains) {
  std::filesystem::current_path(testing::TempDir());
  io::write_file("train_val.prototxt", R"(
layer { name: "mnist" type: "Data" top: "data" top: "label" include { phase: TRAIN } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" param { lr_mult: 1 } param { lr_mult: 2 }
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })");
  // clang-format off
caffe_import_settings const settings{.state = {.phase = caffe_state::phases::train}, .inputs = {{"data", {1, 28, 28}}}};
caffe_model const net = import_caffe("train_val.prototxt", settings);
auto const rule = [](double factor) { return momentum{.learning_rate = 0.01 * factor, .momentum = 0.9}; };
training run = trainer<reference<float>>(net.model.network(), net.settings_with(rule, 5e-4));
net.model.read_known_parameters(run.parameters());
  // clang-format on
  std::vector<float> const pixels(28 * 28, 1);
  std::vector<std::int32_t> const labels{3};
  batch_view const batch(tensor_view(pixels.data(), {1, 1, 28, 28}), tensor_view(labels.data(), {1}));
  double const before = run.loss_of(batch);
  run.train_on(batch);
  EXPECT_LT(run.loss_of(batch), before);
  std::filesystem::remove("train_val.prototxt");
}

TEST(docs_coming_from, the_settings_of_lenet_are_those_of_its_solver) {
  auto const rate = [](double base) {
    return schedule::inverse{.initial = base, .gamma = 1e-4, .power = 0.75, .by = schedule::unit::step};
  };
  training_settings const from_caffe{
      .optimizer = {.rule = momentum{.learning_rate = rate(0.01), .momentum = 0.9, .rate_in_velocity = true},
                    .bias_rule =
                        momentum{.learning_rate = rate(0.02), .momentum = 0.9, .rate_in_velocity = true},
                    .l2 = 5e-4,
                    .bias_l2 = 5e-4},
      .weights = init::lecun_uniform{}};
  caffe_solver const solver = caffe_solver::from(parse_prototxt(R"(
net_param {
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 8 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" param { lr_mult: 1 } param { lr_mult: 2 }
    inner_product_param { num_output: 10 weight_filler { type: "xavier" } bias_filler { type: "constant" } } }
}
base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 lr_policy: "inv" gamma: 0.0001 power: 0.75 max_iter: 10000)",
                                                                "solver"));
  optimizer_settings const made = solver.optimizer(import_caffe(solver.train_net, ""));
  for (parameter_role const role : {parameter_role::weights, parameter_role::biases})
    EXPECT_EQ(made.rule_of("ip", role), from_caffe.optimizer.rule_of("ip", role));
}

}  // namespace caffe_page_test
