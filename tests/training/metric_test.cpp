// SPDX-License-Identifier: Apache-2.0
// covers: training/evaluation_settings
#include <gtest/gtest.h>
#include <chrono>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/weighted_by_class.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/evaluation_listener.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/trainer.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../strategy/rank_cases.hpp"
#include "planes.hpp"

namespace metric_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::narrow;
using cohort_test::planes;
using cohort_test::small;
using cohort_test::wide;

constexpr auto plane = network<[](builder& net) {
  return net.input({2}) | dense{.units = 3} | relu{} | dense{.units = 2} | mean_squared_error{};
}>();

training_settings const quick{.optimizer = {nesterov{.learning_rate = 0.05, .momentum = 0.9}}};

/// 1 if the first output is the largest.
double is_first(tensor_view output, tensor_view) {
  std::span<float const> const scores = output.as<float>();
  return scores[0] > scores[1] && scores[0] > scores[2] ? 1 : 0;
}

TEST(metrics, of_classes_equal_the_evaluation_reports) {
  bright_thirds const examples(60), held(31, 2);
  training run = trainer<narrow>(small, quick);
  fit_report const report =
      run.fit(examples.data(), {.batch = 10,
                                .epochs = 2,
                                .validation = held.data(),
                                .metrics = {metrics::accuracy, metrics::top_k(2), metrics::log_loss,
                                            metrics::auc, metrics::mean_of("first", is_first)}});
  classification_report const seen = run.evaluate(held.data(), {.top = 2});
  roc_report curves(3);
  run.evaluate(held.data(), {&curves});
  EXPECT_EQ(report.history["accuracy"].back(), seen.accuracy());
  EXPECT_EQ(report.history["top-2 accuracy"].back(), seen.top_accuracy());
  EXPECT_NEAR(report.history["log loss"].back(), seen.log_loss().value(), 1e-12);
  EXPECT_EQ(report.history["auc"].back(), curves.auc());
  EXPECT_EQ(report.history["first"].back() * 31,
            static_cast<double>(seen.count(0, 0) + seen.count(1, 0) + seen.count(2, 0)));
  EXPECT_NEAR(report.history["validation loss"].back(), seen.log_loss().value(), 1e-6);
}

TEST(metrics, of_numbers_equal_the_evaluation_reports) {
  planes const examples(64);
  training run = trainer<wide>(plane, {.optimizer = {sgd{.learning_rate = 0.3}}});
  fit_report const report = run.fit(examples.data(), {.batch = 16,
                                                      .epochs = 3,
                                                      .validation = examples.data(),
                                                      .metrics = {metrics::rmse, metrics::mae, metrics::r2}});
  regression_report seen(2);
  run.evaluate(examples.data(), {&seen});
  EXPECT_NEAR(report.history["rmse"].back(), seen.rmse().value(), 1e-12);
  EXPECT_NEAR(report.history["mae"].back(), seen.mae().value(), 1e-12);
  EXPECT_NEAR(report.history["r2"].back(), seen.r2().value(), 1e-12);
  EXPECT_NEAR(report.history["validation loss"].back(), seen.mse().value(), 1e-12);
}

TEST(metrics, are_the_same_on_all_ranks) {
  bright_thirds const examples(60), held(31, 2);
  auto const measured = [&](int ranks, auto how) {
    std::vector<std::vector<double>> seen(static_cast<std::size_t>(ranks));
    launch<threads>(ranks, [&](communicator& world) {
      training run = trainer<wide>(small, world, how, cohort_test::plain_sgd());
      fit_report const report = run.fit(
          examples.data(),
          {.batch = 12 / ranks, .epochs = 2, .validation = held.data(), .metrics = {metrics::accuracy}});
      for (char const* name : {"loss", "validation loss", "accuracy"})
        for (double const number : report.history[name])
          seen[static_cast<std::size_t>(world.rank())].push_back(number);
    });
    for (auto const& one : seen) EXPECT_EQ(one, seen[0]);
    return seen[0];
  };
  std::vector<double> const alone = measured(1, allreduce{}), together = measured(3, allreduce{});
  ASSERT_EQ(alone.size(), 6U);
  EXPECT_LT(cohort_test::largest_difference(alone, together), 1e-10);
  measured(2, parameter_averaging{.every = 3});
}

constexpr auto with_masks = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 20} | batch_norm{} | relu{} | dropout{.rate = 0.5}
         | dense{.units = 3} | softmax_cross_entropy{.label_smoothing = 0.1};
}>();

TEST(metrics, measure_the_loss_in_inference_mode) {
  bright_thirds const examples(60), held(20, 2);
  training run = trainer<wide>(with_masks, quick);
  run.fit(examples.data(), {.batch = 10, .epochs = 2});
  std::string const before = run.checksum();
  predictions const p = run.predict(tensor_view(held.pixels.data(), shape{20, 1, 8, 8}));
  double loss = 0;
  for (int n = 0; n < 20; ++n)
    for (int c = 0; c < 3; ++c)
      loss -= ((c == held.labels[static_cast<std::size_t>(n)] ? 0.9 : 0) + 0.1 / 3)
              * std::log(static_cast<double>(p[n][static_cast<std::size_t>(c)]));
  EXPECT_NEAR(metrics::loss.on(held.data(), evaluation_settings{.batch = 7}).of(run), loss / 20, 1e-6);
  EXPECT_NEAR(run.loss_of({tensor_view(held.pixels.data(), shape{20, 1, 8, 8}),
                           tensor_view(held.labels.data(), shape{20})}),
              loss / 20, 1e-6);
  EXPECT_EQ(run.checksum(), before);
  EXPECT_EQ(run.step(), 12);
}

constexpr auto two_heads = network<[](builder& net) {
  auto const body = net.input({1, 8, 8}) | dense{.units = 8} | relu{};
  return std::tuple(body | dense{.units = 3} | softmax_cross_entropy{.name = "a"},
                    body | dense{.units = 3} | softmax_cross_entropy{.weight = 0.5, .name = "b"});
}>();

TEST(metrics, weigh_losses_by_loss_weight_and_example_weight) {
  bright_thirds const held(12);
  training run = trainer<wide>(two_heads, quick);
  std::vector<float> const weights{1, 2, 0, 1, 1, 0.5F, 0.5F, 1, 2, 2, 1, 0};
  tensor_view const images(held.pixels.data(), shape{12, 1, 8, 8}), labels(held.labels.data(), shape{12});
  double const all = run.loss_of({{images}, {labels, labels}, weights});
  double sum = 0, total = 0;
  for (int n = 0; n < 12; ++n) {
    double const weight = weights[static_cast<std::size_t>(n)];
    sum += weight * run.loss_of({{images.rows(n, 1)}, {labels.rows(n, 1), labels.rows(n, 1)}});
    total += weight;
  }
  EXPECT_NEAR(all, sum / total, 1e-12);
  auto const heads = run.outputs_of({"a", "b"}, images.rows(0, 1));
  auto const label = static_cast<std::size_t>(held.labels[0]);
  EXPECT_NEAR(run.loss_of({{images.rows(0, 1)}, {labels.rows(0, 1), labels.rows(0, 1)}}),
              -std::log(static_cast<double>(heads[0][0][label]))
                  - 0.5 * std::log(static_cast<double>(heads[1][0][label])),
              1e-6);
}

TEST(metrics, may_be_functions_of_the_run) {
  bright_thirds const examples(30), held(12, 2);
  training run = trainer<narrow>(small, quick);
  fit_report const report =
      run.fit(examples.data(),
              {.batch = 10,
               .epochs = 2,
               .validation = held.data(),
               .metrics = {metric{.name = "steps", .of = [](training& of) { return double(of.step()); }},
                           metrics::loss}});
  EXPECT_EQ(report.history["steps"][0], 3);
  EXPECT_EQ(report.history["steps"][1], 6);
  EXPECT_EQ(report.history.names().size(), 6U);
}

TEST(metrics, are_logged_by_the_evaluation_listener) {
  bright_thirds const examples(30), held(12, 2);
  std::vector<std::string> lines;
  evaluation_listener looking(held.data(),
                              {.metrics = {metrics::accuracy, metrics::loss},
                               .lines = [&](std::string_view line) { lines.emplace_back(line); }});
  training run = trainer<narrow>(small, quick);
  run.fit(examples.data(), {.batch = 10, .epochs = 2, .listeners = {&looking}});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].rfind("epoch 2: validation loss ", 0), 0U) << lines[1];
  EXPECT_NE(lines[1].find(", accuracy 0."), std::string::npos) << lines[1];
}

TEST(metrics, ignore_weights_of_examples_except_in_the_loss) {
  bright_thirds const held(31, 2);
  arrays const labelled(std::span<float const>(held.pixels), shape{1, 8, 8},
                        std::span<std::int32_t const>(held.labels), 3);
  training run = trainer<narrow>(small, quick);
  auto const measured = [&](dataset const& data) {
    return std::pair(metrics::accuracy.on(data).of(run), metrics::loss.on(data).of(run));
  };
  auto const plain = measured(labelled), weighted = measured(weighted_by_class(labelled, {0.5, 1, 5}));
  EXPECT_EQ(plain.first, weighted.first);
  EXPECT_GT(std::abs(plain.second - weighted.second), 1e-3);
  dataset const two_classes = weighted_by_class(labelled, {0, 1, 5});  // examples of weight 0 do not count
  auto const of_class_0 = std::ranges::count(held.labels, 0);
  EXPECT_EQ(run.evaluate(two_classes).examples(), 31 - of_class_0);
}

/// Examples that are given only when three threads request some.
struct read_by_three {
  bright_thirds examples{12};
  dataset all = examples.data();
  struct meeting {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> seen;
  };
  std::shared_ptr<meeting> met = std::make_shared<meeting>();

  data_description const& describe() const { return all.describe(); }
  std::int64_t size() const { return all.size(); }
  void get(std::int64_t i, example_view& out) const {
    std::unique_lock lock(met->mutex);
    met->seen.insert(std::this_thread::get_id());
    met->changed.notify_all();
    bool const all_are_there =
        met->changed.wait_for(lock, std::chrono::seconds(20), [&] { return met->seen.size() >= 3; });
    if (!all_are_there) throw data_error({.what = "fewer than three threads read"});
    lock.unlock();
    all.get(i, out);
  }
};

TEST(metrics, of_validation_data_are_computed_with_the_readers_of_fit) {
  training run = trainer<narrow>(small, quick);
  read_by_three const held;
  fit_settings how{.batch = 6, .readers = 3, .validation = held};
  bright_thirds const examples(12);
  fit_history const history = run.fit(examples.data(), how).history;
  EXPECT_EQ(history["validation loss"].size(), 1U);
}

TEST(metrics, that_are_invalid_or_do_not_match_the_data_are_refused_before_the_first_step) {
  bright_thirds const labelled(12);
  planes const numbers(12);
  training classes = trainer<narrow>(small), values = trainer<narrow>(plane);
  auto const refused = [](training& run, dataset const& data, std::vector<metric> which) {
    std::string const text = refusal_of<setting_error>(
        [&] { run.fit(data, {.batch = 4, .validation = data, .metrics = std::move(which)}); });
    EXPECT_EQ(run.step(), 0);
    return text;
  };
  EXPECT_EQ(refused(values, numbers.data(), {metrics::accuracy}),
            "this metric got targets that are not class labels (metric accuracy): expected one class index "
            "per example, i32, got 2 numbers per example, f32");
  EXPECT_EQ(refused(classes, labelled.data(), {metrics::rmse}),
            "this metric needs numeric targets with the shape of the output (metric rmse): expected 3 "
            "numbers per example, f32 or the backend's type, got one class index per example, i32");
  EXPECT_EQ(refused(classes, labelled.data(), {metrics::top_k(4)}),
            "the k of a top-k accuracy is out of range (metric top-4 accuracy): expected 1 to 3, the number "
            "of classes, got 4");
  EXPECT_EQ(
      refused(classes, labelled.data(), {metrics::accuracy, metrics::accuracy}),
      "two metrics have the same name (metrics): expected a different name for each metric, got accuracy");
  EXPECT_EQ(refused(classes, labelled.data(), {metric{.of = [](training&) { return 1.0; }}}),
            "a metric has no name, so its history column would have none (metrics): expected metric{.name = "
            "…}, got an empty name");
  EXPECT_NE(refused(classes, labelled.data(), {metric{.name = "nothing"}}).find("no function"),
            std::string::npos);
  EXPECT_NE(refusal_of<setting_error>([&] {
              classes.fit(labelled.data(), {.batch = 4, .metrics = {metrics::accuracy}});
            }).find(".validation = data"),
            std::string::npos);
  EXPECT_THROW(metrics::mean_of("bad", [](tensor_view, tensor_view) { return std::nan(""); })
                   .on(labelled.data())
                   .of(classes),
               data_error);
}

}  // namespace metric_test
