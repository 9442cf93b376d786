// SPDX-License-Identifier: Apache-2.0
// The program of docs/prediction.md, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/trainer/dynamic_batcher.hpp>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace trainer_pages_test {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32, .bias = false} | batch_norm{} | relu{}
         | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  auto training = cohort::trainer<cohort::reference<float>>(digits, {.updater = cohort::adam{}});
  training.fit(cohort::drawn_digits(2'000, 1), {.batch = 16});
  cohort::loader batches(cohort::drawn_digits(64, 2), {.batch = 64, .shuffle = false});
  cohort::tensor_view const images = batches.next()->input();

  cohort::dynamic_batcher batcher(training, {.max_batch = 16, .max_delay = std::chrono::microseconds(500)});
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = caller; i < 64; i += 4) {
        cohort::predictions const one = batcher.predict(images.rows(i, 1));  // blocks only this caller
        std::printf("image %d is a %d\n", i, one.best(0));
      }
    });
  for (std::thread& one : callers) one.join();
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

TEST(pages, of_prediction_run) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(main(), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 64);
  EXPECT_NE(said.find("image 63 is a "), std::string::npos);
}

}  // namespace trainer_pages_test
