// SPDX-License-Identifier: Apache-2.0
#include "../plan/counted_new.hpp"

#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/training/trainer.hpp>
#include "bright_thirds.hpp"

namespace worker_contexts_test {

using namespace cohort;
using wide = reference<double>;

constexpr auto net = network<[](builder& b) {
  return b.input({1, 8, 8}) | conv2d{.filters = 64, .kernel = 3, .padding = 1} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

/// Memory that two steps allocate in addition to the training's.
std::size_t bytes_of_fit(int batch, int pieces) {
  cohort_test::bright_thirds const examples(2 * batch);
  dataset const data = examples.data();
  training made = trainer<wide>(net, {});
  allocated_bytes = 0;
  counting = true;
  made.fit(data, {.batch = batch, .accumulate = pieces});
  counting = false;
  return allocated_bytes;
}

TEST(worker_contexts, keep_only_the_memory_of_the_largest_micro_batch) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  auto const smaller = make_plan(std::make_shared<parameter_store<wide>>(wide{}, net), net, {.batch = 7});
  std::size_t const even = bytes_of_fit(16, 2), uneven = bytes_of_fit(15, 2);
  EXPECT_GT(even, smaller->memory().activations) << "it would have been seen";
  EXPECT_LT(uneven, even + smaller->memory().activations / 4);
}

TEST(worker_contexts, evaluate_without_changing_the_training) {
  cohort_test::bright_thirds const examples(90);
  struct evaluating final : listener {
    dataset data;
    explicit evaluating(dataset d) : data(std::move(d)) {}
    void on_step(training& run, step_report const&) override { run.evaluate(data, {.batch = 40}); }
  } looking(examples.data());
  auto const after = [&](std::vector<listener*> who) {
    training made = trainer<wide>(net, {.workers = 2});
    made.fit(examples.data(), {.batch = 7, .accumulate = 2, .listeners = std::move(who)});
    return made.checksum();
  };
  EXPECT_EQ(after({&looking}), after({}));
}

}  // namespace worker_contexts_test
