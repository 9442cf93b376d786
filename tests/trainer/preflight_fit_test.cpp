// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/trainer/preflight_fit.hpp>
#include <cohort/trainer/trainer.hpp>
#include <cstdint>
#include <string>
#include "../data/refused.hpp"

namespace preflight_fit_test {

using namespace cohort;

constexpr auto tiny =
    network<[](builder& net) { return net.input({2}) | dense{.units = 2} | softmax_cross_entropy{}; }>();

constexpr std::array inputs{0.F, 1.F, 1.F, 0.F, 0.5F, 1.F, 1.F, 0.25F};
constexpr std::array labels{0, 1, 0, 1};
constexpr std::array other_labels{0, 1, 1, 1};

training run_of(communicator& world, double rate, std::uint64_t seed = 3) {
  return trainer<reference<float>>(tiny, world, allreduce{}, {.updater = sgd{.rate = rate}, .seed = seed});
}

TEST(preflight_fit, finds_no_problem_where_fit_trains) {
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

TEST(preflight_fit, reports_on_every_rank_what_fit_would_refuse) {
  launch<threads>(2, [](communicator& world) {
    bool const odd = world.rank() == 1;
    training run = run_of(world, odd ? 0.25 : 0.5, odd ? 4 : 3);
    dataset const data = odd ? arrays(inputs, {2}, other_labels, 2) : arrays(inputs, {2}, labels, 2);
    preflight_report const report = preflight_fit(run, data, {.batch = odd ? 2 : 1});
    ASSERT_EQ(report.problems.size(), 4U) << report.text();
    expect_parts(report.problems[0],
                 {"the ranks of this run differ (seed): 3 on rank 0; 4 on rank 1; start all ranks"});
    expect_parts(report.problems[1], {"(settings): ", "0.5", "0.25"});
    expect_parts(report.problems[2], {"(batch): 1 on rank 0; 2 on rank 1"});
    expect_parts(report.problems[3],
                 {"(data set): 4 examples, fingerprint ", " on rank 0; 4 examples, fingerprint "});
    EXPECT_THROW(report.require_none(), setting_error);
    EXPECT_THROW(run.fit(data, {.batch = odd ? 2 : 1}), setting_error);
  });
}

TEST(preflight_fit, adds_the_memory_of_training_to_that_of_the_program) {
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
