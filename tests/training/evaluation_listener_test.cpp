// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/detail/text_table.hpp>
#include <cohort/evaluation/calibration.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cohort/training/evaluation_listener.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "bright_thirds.hpp"
#include "planes.hpp"

namespace evaluation_listener_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::planes;
using cohort_test::small;
using narrow = reference<float>;

struct recorded {
  std::vector<std::string> lines{};
  sink to() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
};

TEST(evaluation_listener, logs_the_accuracy_every_n_epochs) {
  bright_thirds const examples(60), held(30, 2);
  recorded said;
  evaluation_listener every_second(held.data(), {.every = 2, .how = {.top = 2}, .lines = said.to()});
  training run = trainer<narrow>(small, {.optimizer = {nesterov{.learning_rate = 0.05, .momentum = 0.9}}});
  run.fit(examples.data(), {.batch = 10, .epochs = 5, .listeners = {&every_second}});
  ASSERT_EQ(said.lines.size(), 2U);
  EXPECT_EQ(said.lines[0].rfind("epoch 2: accuracy ", 0), 0U) << said.lines[0];
  EXPECT_NE(said.lines[1].find(" %, top-2 "), std::string::npos) << said.lines[1];
  EXPECT_NE(said.lines[1].find(" %, log loss "), std::string::npos) << said.lines[1];
}

TEST(evaluation_listener, fills_several_reports_in_one_pass_on_all_ranks) {
  bright_thirds const examples(60), held(31, 2);
  recorded said;
  launch<threads>(2, [&](communicator& world) {
    roc_report roc(3);
    calibration_report calibration(3);
    evaluation_listener looking(held.data(), {&roc, &calibration},
                                [&] { return "AUC " + detail::decimal_text(roc.auc(), 4); },
                                {.how = {.batch = 4}, .lines = said.to()});
    early_stopping_listener stopping({.name = "AUC", .of = [&](training&) { return roc.auc().value(); }},
                                     {.lines = {}});
    training run = trainer<narrow>(small, world, allreduce{},
                                   {.optimizer = {nesterov{.learning_rate = 0.05, .momentum = 0.9}}});
    run.fit(examples.data(), {.batch = 10, .epochs = 2, .listeners = {&looking, &stopping}});
    EXPECT_EQ(roc.examples(), 31) << "of the last pass alone";
    EXPECT_EQ(calibration.examples(), 31);
    EXPECT_GE(stopping.best().value(), roc.auc().value());
  });
  ASSERT_EQ(said.lines.size(), 2U) << "rank 0 speaks";
  EXPECT_EQ(said.lines[0].rfind("epoch 1: AUC 0.", 0), 0U) << said.lines[0];
}

TEST(evaluation_listener, refuses_an_interval_below_1) {
  bright_thirds const held(3);
  EXPECT_EQ(refusal_of<setting_error>([&] { evaluation_listener(held.data(), {.every = 0}); }),
            "invalid evaluation interval (evaluation_listener): expected every ≥ 1 epoch, got 0");
}

constexpr auto line =
    network<[](builder& net) { return net.input({2}) | dense{.units = 2} | mean_squared_error{}; }>();

TEST(evaluation_listener, evaluates_regression_too) {
  planes const examples(64);
  regression_report seen(2);
  recorded said;
  evaluation_listener looking(examples.data(), {&seen},
                              [&] { return "R² " + detail::decimal_text(seen.r2(), 3); },
                              {.lines = said.to()});
  training run = trainer<narrow>(line, {.optimizer = {sgd{.learning_rate = 0.5}}});
  run.fit(examples.data(), {.batch = 16, .epochs = 60, .listeners = {&looking}});
  EXPECT_GT(seen.r2().value(), 0.999);
  ASSERT_EQ(said.lines.size(), 60U);
  EXPECT_EQ(said.lines.back(), "epoch 60: R² 1.000");
}

TEST(evaluation_listener, requires_evaluators_for_targets_without_classes) {
  planes const examples(4);
  evaluation_listener looking(examples.data());
  training run = trainer<narrow>(line);
  EXPECT_EQ(
      refusal_of<shape_error>([&] { looking.on_epoch(run, {}); }),
      "evaluate without evaluators got targets that are not class labels (evaluate): expected one class "
      "index per example or step, i32; for numbers: evaluate(data, {&report}) with a regression_report, got "
      "2 numbers "
      "per "
      "example, "
      "f32");
}

TEST(fit, refuses_targets_that_do_not_match_the_loss) {
  planes const examples(4);
  bright_thirds const labelled(4);
  training wants_numbers = trainer<narrow>(line), wants_labels = trainer<narrow>(small);
  dataset const labels =
      arrays(std::span<float const>(examples.x), {2}, std::span<std::int32_t const>(labelled.labels), 3);
  EXPECT_EQ(refusal_of<shape_error>([&] { wants_numbers.fit(labels); }),
            "the data set's target does not fit the loss (mean_squared_error_1): expected 2 numbers per "
            "example, f32, got "
            "one class index per example, i32");
  dataset const numbers = arrays({array_view{.values = {labelled.pixels.data(), {4, 1, 8, 8}}}},
                                 {array_view{.name = "y", .values = {examples.y.data(), {4, 2}}}});
  EXPECT_EQ(refusal_of<shape_error>([&] { wants_labels.fit(numbers); }),
            "the data set's target does not fit the loss (softmax_cross_entropy_1): expected one class index "
            "per example, i32, or 3 numbers per example, f32, got 2 numbers per example, f32");
}

}  // namespace evaluation_listener_test
