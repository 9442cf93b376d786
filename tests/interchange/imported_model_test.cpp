// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/interchange/imported_model.hpp>

#include <cohort/layer/dense.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace imported_model_test {

using namespace cohort;

graph small() {
  return graph::build(
      [](builder& b) { return b.input({2}) | dense{.units = 3, .name = "head"} | softmax_cross_entropy{}; });
}
std::vector<float> const weights{1, 2, 3, 4, 5, 6}, bias{7, 8, 9};

TEST(imported_model, loads_into_a_run_with_parameters_and_settings) {
  imported_model made(small(), "a.onnx");
  made.settings.optimizer.rule = adam{.learning_rate = 0.5};
  made.set("head.weights", {3, 2}, weights);
  made.set("head.bias", {3}, bias);
  training run = load_imported<reference<double>>(made);
  std::vector<double> read(9);
  run.parameters().read_all(run.parameters().master(), reinterpret_cast<std::byte*>(read.data()));
  EXPECT_EQ(read, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(run.settings().optimizer.rule.name(), "adam");
}

TEST(imported_model, stores_parameters_from_temporary_vectors) {
  imported_model made(small(), "a.onnx");
  std::vector<float> values = weights;
  made.set("head.weights", {3, 2}, std::move(values));
  made.set("head.bias", {3}, std::vector<float>(bias));
  training run = load_imported<reference<double>>(made);
  std::vector<double> read(9);
  run.parameters().read_all(run.parameters().master(), reinterpret_cast<std::byte*>(read.data()));
  EXPECT_EQ(read, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(imported_model, refuses_unknown_misshapen_repeated_or_missing_parameters) {
  imported_model made(small(), "a.onnx");
  EXPECT_EQ(refusal_of<data_error>([&] {
              made.set("tail.weights", {3, 2}, weights);
            }),
            "the network has no such parameter (a.onnx, parameter tail.weights): expected a parameter of the "
            "network; "
            "the nearest name is head.weights, got tail.weights");
  EXPECT_EQ(
      refusal_of<data_error>([&] {
        made.set("x", {3, 2}, weights);
      }),
      "the network has no such parameter (a.onnx, parameter x): expected one of its 2 parameters, got x");
  EXPECT_EQ(refusal_of<data_error>([&] {
              made.set("head.weights", {2, 3}, weights);
            }),
            "the parameter has another shape (a.onnx, parameter head.weights): expected 3x2, got 2x3 with 6 "
            "values");
  EXPECT_EQ(refusal_of<data_error>([&] {
              made.set("head.weights", {3, 2}, bias);
            }),
            "the parameter has another shape (a.onnx, parameter head.weights): expected 3x2, got 3x2 with 3 "
            "values");
  made.set("head.weights", {3, 2}, weights);
  EXPECT_EQ(refusal_of<data_error>([&] {
              made.set("head.weights", {3, 2}, weights);
            }),
            "the parameter is set twice (a.onnx, parameter head.weights)");
  EXPECT_EQ(refusal_of<data_error>([&] { load_imported<reference<float>>(made); }),
            "the file has no values of the parameter (a.onnx, parameter head.bias): expected 3");
}

/// A model with parameters, Adam, and the state of its first moments.
imported_model with_state() {
  imported_model model(small(), "a.onnx");
  model.set("head.weights", {3, 2}, weights);
  model.set("head.bias", {3}, bias);
  model.settings.optimizer.rule = adam{.learning_rate = 0.5};
  model.set_state("head.bias", 0, {1, 2, 3});
  model.position = {.step = 7, .epoch = 2};
  return model;
}

TEST(imported_model, continues_from_the_state_of_its_optimizers) {
  imported_model const model = with_state();
  EXPECT_TRUE(model.has_state());
  training const run = load_imported<reference<float>>(model);
  EXPECT_EQ(run.step(), 7);
  EXPECT_EQ(run.epoch(), 2);
  training_settings other = model.settings;
  other.optimizer.rule = sgd{.learning_rate = 0.5};
  EXPECT_EQ(load_imported<reference<float>>(model, other).step(), 0);
}

TEST(imported_model, refuses_state_that_does_not_fit) {
  imported_model model = with_state();
  EXPECT_EQ(
      refusal_of<data_error>([&] { model.set_state("tail.bias", 0, {1}); }),
      "the optimizers' state belongs to another network (a.onnx, parameter tail.bias): expected a parameter "
      "of the network, got 1 values");
  EXPECT_EQ(refusal_of<data_error>([&] { model.set_state("head.bias", 0, {1}); }),
            "the optimizers' state belongs to another network (a.onnx, parameter head.bias): expected 3, got "
            "1 values");
  model.set_state("head.bias", 2, {1, 2, 3});
  EXPECT_EQ(
      refusal_of<data_error>([&] { load_imported<reference<float>>(model); }),
      "the optimizer has fewer state arrays than the file (a.onnx, parameter head.bias): expected 3, got 2");
}

TEST(imported_model, rescales_inputs) {
  imported_model model = with_state();
  std::vector<float> const ones{1, 1}, shifted{3, 5};
  auto const expected = load_imported<reference<float>>(model).predict(tensor_view(ones.data(), {1, 2}));
  model.normalisation.inputs = {{{.scale = 0.5, .offset = -0.5}, {.scale = 0.25, .offset = -0.25}}};
  auto const rescaled = load_imported<reference<float>>(model).predict(tensor_view(shifted.data(), {1, 2}));
  EXPECT_EQ(rescaled.values, expected.values);
}

}  // namespace imported_model_test
