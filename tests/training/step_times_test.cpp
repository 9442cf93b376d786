// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cohort/backend/reference.hpp>
#include <cohort/training/step_times.hpp>
#include <cohort/training/trainer.hpp>
#include <vector>

#include "bright_thirds.hpp"

namespace step_times_test {

using namespace cohort;
using namespace cohort_test;

struct recorder : listener {
  std::vector<step_times> steps;
  void on_step(training&, step_report const& now) override { steps.push_back(now.times); }
};

TEST(step_times, do_not_decrease_over_the_phases_of_all_steps) {
  bright_thirds const examples(25);
  training made = trainer<reference<float>>(graph::build([](builder& net) {
    return net.input({1, 8, 8}) | dense{.units = 3} | softmax_cross_entropy{};
  }));
  recorder seen;
  made.fit(examples.data(), {.batch = 12, .listeners = {&seen}});
  ASSERT_EQ(seen.steps.size(), 3U);
  std::chrono::steady_clock::time_point last{};
  for (step_times const& now : seen.steps)
    for (auto const next : std::array{now.data, now.prepare, now.forward, now.backward, now.exchange,
                                      now.update, now.after_update, now.end}) {
      EXPECT_LE(last, next);
      last = next;
    }
}

}  // namespace step_times_test
