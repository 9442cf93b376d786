// SPDX-License-Identifier: Apache-2.0
// label: slow long
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/plan/tuned_operation.hpp>
#include <cohort/training/tune.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../../checkpoint/scratch_folder.hpp"
#include "cudnn_cases.hpp"
#include "pretended_cudnn.hpp"

namespace cudnn_autotuned_choice_test {

using namespace cohort;

/// Selects the last candidate, times all of them, and records the descriptions.
struct the_last final : tuning,
                        step_autotuner_for<pretended_cudnn>,
                        step_autotuner_for<pretended_cudnn_bf16> {
  std::vector<std::string> asked{};
  std::set<std::string> named{};
  std::vector<double> seconds{};

  std::size_t choose(std::string const& what, std::span<std::string const> ways,
                     stopwatch const& seconds_of) override {
    asked.push_back(what);
    named.insert(ways.begin(), ways.end());
    for (std::size_t i = 0; i < ways.size(); ++i) seconds.push_back(seconds_of(i));
    return ways.size() - 1;
  }
};

class autotuned_choice : public testing::Test {
 protected:
  autotuned_choice() { pretended_gpu::machine = &machine; }
  ~autotuned_choice() override {
    EXPECT_TRUE(machine.memory.empty()) << "memory is left on the GPU";
    EXPECT_EQ(fake_blas::descriptions, 0) << "descriptions of cuBLASLt are left";
    EXPECT_EQ(fake_dnn::descriptions(), 0) << "descriptions of cuDNN are left";
  }
  template <class B>
  std::set<std::string> implementations(plan_settings const& how) {
    std::set<std::string> found;
    trial<B> made(graph(cudnn_cases::lenet), how);
    EXPECT_TRUE(std::isfinite(made.step()));
    for (plan_row const& row : made.plan->rows())
      if (row.implementation.starts_with("cudnn")) found.insert(row.implementation);
    return found;
  }
  fake_dnn::settings with;
  fake_machine machine;
};

TEST_F(autotuned_choice, considers_only_engines_of_the_requested_precision) {
  the_last by;
  EXPECT_EQ(implementations<pretended_cudnn>({.batch = 2}), std::set<std::string>{"cudnn:6"});
  EXPECT_EQ(implementations<pretended_cudnn>({.batch = 2, .tune = &by}),
            std::set<std::string>{"cudnn:21, tuned"})
      << "engines of all modes of the heuristics";
  EXPECT_EQ(by.named,
            (std::set<std::string>{"engine 6", "engine 7", "engine 21", "algorithm 1", "algorithm 2"}));
  // two convolutions, the first without an input gradient, and two dense layers
  EXPECT_EQ(by.asked.size(), 5U + 6U);
  EXPECT_TRUE(by.asked[0].starts_with("Pretended GPU, cuDNN 9")) << by.asked[0];
  EXPECT_TRUE(
      by.asked[0].ends_with(", convolution's output, input 2x1x28x28, weights 20x1x5x5, output 2x20x24x24, "
                            "stride 1x1, dilation 1x1, padding 0+0 0+0, by f32"))
      << by.asked[0];
  for (double const one : by.seconds) EXPECT_TRUE(one > 0 && std::isfinite(one));
}

TEST_F(autotuned_choice, distinguishes_configurations_of_an_engine) {
  fake_dnn::now.best = {{6, {}}, {6, {}, true, 512}, {7, {}}, {6, {}}};
  the_last by;
  implementations<pretended_cudnn_bf16>({.batch = 2, .tune = &by});
  EXPECT_EQ(by.named,
            (std::set<std::string>{"engine 6", "engine 6, configuration 2", "engine 6, configuration 3",
                                   "engine 7", "engine 21", "algorithm 1", "algorithm 2"}));
}

TEST_F(autotuned_choice, times_an_engine_once_if_several_heuristics_return_it) {
  fake_dnn::now.best = {{6, {}}};
  fake_dnn::now.second = {{6, {}}, {8, {}}};
  fake_dnn::now.fallback = {{8, {}}, {6, {}}, {9, {}}};
  the_last by;
  implementations<pretended_cudnn>({.batch = 2, .tune = &by});
  EXPECT_EQ(by.named,
            (std::set<std::string>{"engine 6", "engine 8", "engine 9", "algorithm 1", "algorithm 2"}));
}

TEST_F(autotuned_choice, skips_an_engine_that_fails) {
  fake_dnn::now.best = {{7, {}}, {6, {}}};
  fake_dnn::now.fails = 6;
  the_last by;
  trial<pretended_cudnn> const made(graph(cudnn_cases::normed), {.batch = 2, .tune = &by});
  EXPECT_GT(std::count_if(by.seconds.begin(), by.seconds.end(), [](double one) { return std::isinf(one); }),
            3);
}

/// A stored choice is not timed again.
TEST_F(autotuned_choice, is_reused_in_the_next_run) {
  scratch_folder const choices;
  cohort_test::bright_thirds const examples(40);
  auto const train = [&] {
    fake_dnn::runs.clear();
    training made = trainer<pretended_cudnn>(
        cudnn_cases::normed,
        {.seed = 3, .tune = tune<pretended_cudnn>({.batch = 10, .folder = choices.path()})});
    made.fit(examples.data(), {.batch = 10});
    int runs = 0;
    for (auto const& [engine, count] : fake_dnn::runs) runs += count;
    return std::pair{cohort_test::parameters_of<float>(made), runs};
  };
  auto const [first, with_timing] = train();
  auto const [again, without] = train();
  EXPECT_EQ(first, again);
  EXPECT_GT(with_timing, without);
}

/// An older GPU does not support the engine that was chosen for the newer GPU.
TEST_F(autotuned_choice, is_cached_separately_for_each_gpu) {
  scratch_folder const choices;
  fake_dnn::now.fallback.clear();
  auto const engines = [&](char const* name, int capability, std::int64_t fails) {
    machine.name = name;
    fake_dnn::now.capability = capability;
    fake_dnn::now.fails = fails;  // this engine fails and is not chosen
    auto const by = tune<pretended_cudnn>({.batch = 2, .folder = choices.path()});
    trial<pretended_cudnn> const made(graph(cudnn_cases::normed), {.batch = 2, .tune = by.get()});
    std::set<std::string> found;
    for (plan_row const& row : made.plan->rows())
      if (row.implementation.starts_with("cudnn")) found.insert(row.implementation.substr(0, 7));
    return found;
  };
  fake_dnn::now.best = {{8, {}, true, 0, 90}, {7, {}}};
  EXPECT_EQ(engines("A newer GPU", 90, 7), std::set<std::string>{"cudnn:8"});
  fake_dnn::now.best.push_back({6, {}});
  EXPECT_EQ(engines("An older GPU", 80, 6), std::set<std::string>{"cudnn:7"});
  fake_dnn::now.best.pop_back();
  EXPECT_EQ(engines("A newer GPU", 90, 0), std::set<std::string>{"cudnn:8"}) << "its own choice";
}

}  // namespace cudnn_autotuned_choice_test
