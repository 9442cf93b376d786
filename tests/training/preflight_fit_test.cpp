// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/evaluation_listener.hpp>
#include <cohort/training/preflight_fit.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include "../data/refused.hpp"

namespace preflight_fit_test {

using namespace cohort;

constexpr auto tiny =
    network<[](builder& net) { return net.input({2}) | dense{.units = 2} | softmax_cross_entropy{}; }>();

constexpr std::array inputs{0.F, 1.F, 1.F, 0.F, 0.5F, 1.F, 1.F, 0.25F};
constexpr std::array labels{0, 1, 0, 1};
constexpr std::array other_labels{0, 1, 1, 1};

training run_of(communicator& world, double rate, std::uint64_t seed = 3) {
  return trainer<reference<float>>(tiny, world, allreduce{},
                                   {.optimizer = {sgd{.learning_rate = rate}}, .seed = seed});
}

TEST(preflight_fit, reports_no_problem_if_fit_would_train) {
  for (int const ranks : {1, 2, 3})
    launch<threads>(ranks, [](communicator& world) {
      training run = run_of(world, 0.5);
      dataset const data = arrays(inputs, {2}, labels, 2);
      fit_settings const how{.batch = 1, .epochs = 2};
      preflight_report const report = preflight_fit(run, data, how, {.folder = "/tmp", .disk = 1});
      EXPECT_EQ(report.text().find("problem"), std::string::npos) << report.text();
      EXPECT_TRUE(report.pairs.empty());
      EXPECT_GT(run.fit(data, how).steps, 0);
    });
}

TEST(preflight_fit, reports_refusals_of_fit_on_every_rank) {
  launch<threads>(2, [](communicator& world) {
    bool const odd = world.rank() == 1;
    training run = run_of(world, odd ? 0.25 : 0.5, odd ? 4 : 3);
    dataset const data = odd ? arrays(inputs, {2}, other_labels, 2) : arrays(inputs, {2}, labels, 2);
    preflight_report const report = preflight_fit(run, data, {.batch = odd ? 2 : 1});
    ASSERT_EQ(report.problems.size(), 4U) << report.text();
    expect_parts(report.problems[0],
                 {"the ranks of this run differ (optimizer.rule.learning_rate): 0.5 on rank 0; "
                  "0.25 on rank 1; start all ranks"});
    expect_parts(report.problems[1], {"(seed): 3 on rank 0; 4 on rank 1"});
    expect_parts(report.problems[2], {"(batch): 1 on rank 0; 2 on rank 1"});
    expect_parts(report.problems[3],
                 {"(data set): 4 examples, fingerprint ", " on rank 0; 4 examples, fingerprint "});
    EXPECT_THROW(report.require_none(), setting_error);
    EXPECT_THROW(run.fit(data, {.batch = odd ? 2 : 1}), setting_error);
  });
}

/// A listener with settings and without a name.
struct every_few final : listener {
  std::string every;
  explicit every_few(std::string number) : every(std::move(number)) {}
  std::string settings() const override { return "every " + every; }
};

TEST(preflight_fit, reports_different_intervals_of_checkpoints_and_evaluations) {
  launch<threads>(2, {.deadline = std::chrono::seconds(20)}, [](communicator& world) {
    bool const odd = world.rank() == 1;
    dataset const data = arrays(inputs, {2}, labels, 2);
    checkpoint_listener fifty("/tmp/never_written", 50), seventy("/tmp/never_written", 70);
    evaluation_listener each(data, {.lines = {}}), second(data, {.every = 2, .lines = {}});
    every_few two("2"), three("3");
    auto const refuse = [&](std::vector<listener*> listeners, std::string const& values) {
      training run = run_of(world, 0.5);
      fit_settings const how{.batch = 1, .listeners = std::move(listeners)};
      preflight_report const report = preflight_fit(run, data, how);
      ASSERT_EQ(report.problems.size(), 1U) << report.text();
      expect_parts(report.problems[0], {"the ranks of this run differ (listeners): ", values.c_str()});
      expect_parts(refused<setting_error>([&] { run.fit(data, how); }), {"(listeners): ", values.c_str()});
      EXPECT_EQ(run.step(), 0);
    };
    refuse({odd ? &seventy : &fifty},
           "checkpoint every 50 steps on rank 0; checkpoint every 70 steps on rank 1");
    refuse(odd ? std::vector<listener*>() : std::vector<listener*>{&fifty},
           "checkpoint every 50 steps on rank 0; nothing on rank 1");
    refuse({odd ? &second : &each},
           "evaluation every 1 epochs on rank 0; evaluation every 2 epochs on rank 1");
    refuse({odd ? &three : &two}, "a listener (every 2) on rank 0; a listener (every 3) on rank 1");
  });
}

TEST(preflight_fit, reports_the_first_layer_that_differs) {
  launch<threads>(2, {.deadline = std::chrono::seconds(20)}, [](communicator& world) {
    auto const net = [](bool is_longer) {
      return graph::build([=](builder& b) {
        auto h = b.input({2}) | dense{.units = 3} | relu{};
        if (is_longer) h = h | dense{.units = 4} | relu{};
        return h | dense{.units = 2} | softmax_cross_entropy{};
      });
    };
    training run = trainer<reference<float>>(net(world.rank() == 1), world, allreduce{});
    dataset const data = arrays(inputs, {2}, labels, 2);
    preflight_report const report = preflight_fit(run, data, {.batch = 1});
    ASSERT_EQ(report.problems.size(), 2U) << report.text();
    expect_parts(report.problems[0], {"the ranks of this run differ (network): "});
    char const* const layer =
        "dense_2 = dense: units 2, output 2, from relu_1 on rank 0; dense_2 = dense: units 4, output 4, from "
        "relu_1 on rank 1";
    expect_parts(report.problems[1], {"the ranks of this run differ (first layer that differs): ", layer});
    expect_parts(refused<setting_error>([&] { run.fit(data, {.batch = 1}); }),
                 {"the ranks of this run differ (network, first layer that differs)", layer});
  });
}

TEST(preflight_fit, reports_a_last_layer_that_only_a_single_rank_has) {
  launch<threads>(3, {.deadline = std::chrono::seconds(20)}, [](communicator& world) {
    graph const usual =
        graph::build([](builder& b) { return b.input({2}) | dense{.units = 2} | softmax_cross_entropy{}; });
    graph const longer = graph::build([](builder& b) {
      auto h = b.input({2}) | dense{.units = 2};
      return std::tuple(h | softmax_cross_entropy{}, h | relu{});
    });
    training run = trainer<reference<float>>(world.rank() == 1 ? longer : usual, world, allreduce{});
    preflight_report const report = preflight_fit(run, arrays(inputs, {2}, labels, 2), {.batch = 1});
    ASSERT_EQ(report.problems.size(), 2U) << report.text();
    expect_parts(report.problems[1], {"(first layer that differs): nothing on ranks 0, 2; relu_1 = relu",
                                      "from dense_1 on rank 1; start all ranks with the same command"});
  });
}

TEST(preflight_fit, reports_no_layer_if_only_a_number_of_an_initialiser_differs) {
  launch<threads>(2, {.deadline = std::chrono::seconds(20)}, [](communicator& world) {
    init::normal const weights{.deviation = world.rank() == 1 ? 0.1 : 0.5};  // the text omits the number
    graph const net = graph::build([&](builder& b) {
      return b.input({2}) | dense{.units = 2, .settings = {.weights = weights}} | softmax_cross_entropy{};
    });
    training run = trainer<reference<float>>(net, world, allreduce{});
    dataset const data = arrays(inputs, {2}, labels, 2);
    preflight_report const report = preflight_fit(run, data, {.batch = 1});
    ASSERT_EQ(report.problems.size(), 1U) << report.text();
    expect_parts(report.problems[0], {"(network): ", " on rank 1; start all ranks with the same command"});
    expect_parts(refused<setting_error>([&] { run.fit(data, {.batch = 1}); }),
                 {"the ranks of this run differ (network): expected the same value on every rank"});
  });
}

TEST(run_checks, evaluate_refuses_ranks_with_different_networks) {
  launch<threads>(2, {.deadline = std::chrono::seconds(20)}, [](communicator& world) {
    graph const net = graph::build([&](builder& b) {
      return b.input({2}) | dense{.units = 3 + world.rank()} | dense{.units = 2} | softmax_cross_entropy{};
    });
    training run = trainer<reference<float>>(net, world, allreduce{});
    expect_parts(
        refused<setting_error>([&] { static_cast<void>(run.evaluate(arrays(inputs, {2}, labels, 2))); }),
        {"the ranks of this run differ (network, first layer that differs)", "units 3", "units 4"});
  });
}

TEST(preflight_fit, reports_different_validation_sets) {
  launch<threads>(2, {.deadline = std::chrono::seconds(20)}, [](communicator& world) {
    training run = run_of(world, 0.5);
    dataset const data = arrays(inputs, {2}, labels, 2), other = arrays(inputs, {2}, other_labels, 2);
    fit_settings const how{.batch = 1, .validation = world.rank() == 1 ? other : data};
    preflight_report const report = preflight_fit(run, data, how);
    ASSERT_EQ(report.problems.size(), 1U) << report.text();
    expect_parts(report.problems[0],
                 {"(validation set): 4 examples, fingerprint ", " on rank 0; 4 examples, "});
    expect_parts(refused<setting_error>([&] { run.fit(data, how); }),
                 {"the ranks' data sets differ (validation): ", " on rank 0; "});
    EXPECT_EQ(run.step(), 0);
  });
}

TEST(preflight_fit, adds_the_memory_of_training_and_of_the_program) {
  launch<threads>(2, [](communicator& world) {
    training run = run_of(world, 0.5);
    dataset const data = arrays(inputs, {2}, labels, 2);
    std::uint64_t const available = preflight(world, {.probe = 0}).ranks[0].memory;
    preflight_report const report = preflight_fit(run, data, {}, {.memory = available});
    ASSERT_EQ(report.problems.size(), 1U) << report.text();
    expect_parts(report.problems[0], {"2 ranks need ", " of memory, and "});
  });
}

}  // namespace preflight_fit_test
