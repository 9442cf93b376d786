// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/training/fit_history.hpp>
#include <cohort/training/trainer.hpp>
#include <limits>
#include <string>
#include "../checkpoint/refusals.hpp"
#include "bright_thirds.hpp"

namespace fit_history_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::small;

TEST(fit_history, has_one_row_per_epoch_of_a_fit) {
  struct hearing final : listener {
    std::vector<epoch_report> heard;
    void on_epoch(training&, epoch_report const& done) override { heard.push_back(done); }
  } listening;
  bright_thirds const examples(26), held(9, 2);
  training run = trainer<reference<float>>(small);
  run.fit(examples.data(), {.batch = 10});
  fit_report const report = run.fit(examples.data(), {.batch = 10,
                                                      .epochs = 3,
                                                      .validation = held.data(),
                                                      .metrics = {metrics::accuracy},
                                                      .listeners = {&listening}});
  fit_history const& history = report.history;
  ASSERT_EQ(history.size(), 3U);
  ASSERT_EQ(listening.heard.size(), 3U);
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_EQ(history["epoch"][e], static_cast<double>(e) + 2);
    EXPECT_EQ(history["loss"][e], listening.heard[e].loss);
    EXPECT_EQ(history["examples"][e], 26);
    EXPECT_EQ(history["seconds"][e], listening.heard[e].seconds);
    EXPECT_EQ(listening.heard[e].validation[0].name, "validation loss");
    EXPECT_EQ(history["validation loss"][e], listening.heard[e].validation[0].value);
    EXPECT_EQ(history["accuracy"][e], listening.heard[e].validation[1].value);
  }
  EXPECT_EQ(report.loss, history["loss"][2]);
  EXPECT_EQ(refusal_of<setting_error>([&] { history["f1"]; }),
            "the history has no column of this name (fit_history): expected one of epoch, loss, examples, "
            "seconds, validation loss, accuracy, got f1");
}

TEST(fit_history, is_written_as_csv) {
  fit_history history;
  EXPECT_EQ(history.csv(), "epoch,loss,examples,seconds\n");
  EXPECT_TRUE(history["loss"].empty());
  history.add(
      {.epoch = 0,
       .examples = 100,
       .loss = 0.1,
       .seconds = 2.5,
       .validation = {{"validation loss", 0.25}, {"a \"b\", c", std::numeric_limits<double>::quiet_NaN()}}});
  history.add({.epoch = 1,
               .examples = 100,
               .loss = 1e-20,
               .seconds = 2,
               .validation = {{"validation loss", 0.125}, {"a \"b\", c", 1}}});
  EXPECT_EQ(history.csv(),
            "epoch,loss,examples,seconds,validation loss,\"a \"\"b\"\", c\"\n"
            "1,0.1,100,2.5,0.25,\n"
            "2,1e-20,100,2,0.125,1\n");
}

TEST(fit_history, refuses_a_row_with_different_metrics) {
  fit_history history;
  history.add({.epoch = 0, .validation = {{"loss", 1}, {"accuracy", 0.5}}});
  std::string const before = history.csv();
  EXPECT_EQ(
      refusal_of<setting_error>([&] {
        history.add({.epoch = 1, .validation = {{"loss", 1}, {"accuracy", 0.5}, {"auc", 0.5}}});
      }),
      "the metrics of an epoch differ from those of the first one (fit_history, epoch 2): expected loss, "
      "accuracy, got loss, accuracy, auc");
  EXPECT_EQ(
      refusal_of<setting_error>([&] { history.add({.epoch = 1}); }),
      "the metrics of an epoch differ from those of the first one (fit_history, epoch 2): expected loss, "
      "accuracy, got none");
  EXPECT_EQ(history.csv(), before);
}

TEST(fit_history, has_no_row_of_an_epoch_that_was_stopped) {
  struct stopping final : listener {
    void on_step(training& run, step_report const& done) override {
      if (done.step == 3) run.request({.stop = true});
    }
  } stop;
  bright_thirds const examples(30);
  training run = trainer<reference<float>>(small);
  EXPECT_EQ(run.fit(examples.data(), {.batch = 10, .epochs = 5, .listeners = {&stop}}).history.size(), 1U);
}

TEST(fit_history, refuses_equal_names_and_rows_with_different_columns) {
  bright_thirds const examples(24);
  training run = trainer<reference<float>>(small);
  metric const loss = metrics::mean_of("loss", [](tensor_view, tensor_view) { return 1.0; });
  EXPECT_EQ(
      refusal_of<setting_error>(
          [&] { run.fit(examples.data(), {.validation = examples.data(), .metrics = {loss}}); }),
      "a metric has the name of another column of the history (metrics): expected a name other than epoch, "
      "loss, examples and seconds, got loss");
  fit_history history;
  history.add({.validation = {{"a", 1}}});
  EXPECT_THROW(history.add({}), setting_error);
  EXPECT_THROW(history.add({.validation = {{"a", 1}, {"b", 2}}}), setting_error);
  EXPECT_EQ(history.size(), 1U);
}

}  // namespace fit_history_test
