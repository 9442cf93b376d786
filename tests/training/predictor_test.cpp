// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/training/detail/predictor.hpp>
#include <cohort/training/trainer.hpp>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>
#include "bright_thirds.hpp"

namespace predictor_test {

using namespace cohort;
using namespace std::chrono_literals;
using cohort_test::bright_thirds;
using cohort_test::small;
using fast = reference<float>;

std::vector<std::pair<int, int>> portions(int count, int largest) {
  std::vector<std::pair<int, int>> made;
  do {
    auto const one = detail::portion::of(count, largest);
    made.emplace_back(one.examples, one.batch);
    count -= one.examples;
  } while (count > 0);
  return made;
}

TEST(predictor, batches_examples_in_powers_of_two_with_at_most_an_eighth_empty) {
  using list = std::vector<std::pair<int, int>>;
  EXPECT_EQ(portions(1, 64), (list{{1, 1}}));
  EXPECT_EQ(portions(0, 64), (list{{0, 1}}));
  EXPECT_EQ(portions(5, 64), (list{{4, 4}, {1, 1}}));
  EXPECT_EQ(portions(7, 64), (list{{7, 8}}));
  EXPECT_EQ(portions(33, 64), (list{{32, 32}, {1, 1}}));
  EXPECT_EQ(portions(150, 64), (list{{64, 64}, {64, 64}, {16, 16}, {4, 4}, {2, 2}}));
  for (int count = 1; count <= 200; ++count) {
    int together = 0;
    for (auto const& [examples, batch] : portions(count, 64)) {
      together += examples;
      EXPECT_LE(examples, batch);
      EXPECT_LE((batch - examples) * 8, batch) << count;
    }
    EXPECT_EQ(together, count);
  }
}

TEST(predictor, predicts_each_example_independently_of_its_batch) {
  bright_thirds const examples(70);
  training const made = trainer<fast>(small, {.seed = 7});
  tensor_view const all(examples.pixels.data(), shape{70, 1, 8, 8});
  std::vector<float> const expected = made.predict(all).values;
  for (int count : {1, 3, 7, 33})
    for (int first : {0, 37}) {
      std::vector<float> const values = made.predict(all.rows(first, count)).values;
      ASSERT_EQ(values.size(), static_cast<std::size_t>(count) * 3);
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(values[i], expected[static_cast<std::size_t>(first) * 3 + i]) << count;
    }
}

TEST(predictor, reports_the_expected_and_the_given_shape) {
  training const made = trainer<fast>(small, {.seed = 7});
  std::vector<float> const numbers(80 * 64);
  auto const refusal = [&](shape dims) -> std::string {
    try {
      (void)made.predict(tensor_view(numbers.data(), dims));
    } catch (shape_error const& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({80, 5}),
            "an input of predict has the wrong shape (input_1): expected Nx1x8x8 for N examples, got 80x5");
  EXPECT_EQ(refusal({4}),
            "an input of predict has the wrong shape (input_1): expected Nx1x8x8 for N examples, got 4");
  EXPECT_EQ(refusal({1, 8, 8}),
            "an input of predict has the wrong shape (input_1): expected Nx1x8x8 for N examples, got 1x8x8");
  EXPECT_EQ(refusal({80, 1, 8, 8}), "accepted");
}

TEST(predictor, reports_the_expected_and_the_given_element_type) {
  training const made = trainer<fast>(small, {.seed = 7});
  auto const refusal = [&]<class T>(T) -> std::string {
    std::vector<T> const numbers(2 * 64);
    try {
      (void)made.predict(tensor_view(numbers.data(), {2, 1, 8, 8}));
    } catch (shape_error const& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(
      refusal(std::uint8_t()),
      "an input of predict has the wrong element type (input_1): expected f32: bytes times the .scale of the "
      "data set, got u8");
  EXPECT_EQ(refusal(std::int32_t()),
            "an input of predict has the wrong element type (input_1): expected f32, got i32");
  EXPECT_EQ(refusal(float()), "accepted");
}

/// A trainer's backend handle whose plans are made by another function.
struct watched {
  training_settings settings{.seed = 7};
  detail::backend_handle real = detail::make_backend_handle<fast>(small, settings);
  detail::backend_handle handle = real;
  detail::predictor predictor{handle, settings};
  bright_thirds examples{8};

  predictions predict(int count) {
    tensor_view const input(examples.pixels.data(), shape{count, 1, 8, 8});
    return std::move(predictor.predict({}, 1, {&input, 1})[0]);
  }
};

TEST(predictor, creates_a_plan_without_blocking_other_predictions) {
  watched w;
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false, go_on = false;
  w.handle.make_plan = [&](plan_settings const& wanted) {
    if (wanted.batch == 8) {
      std::unique_lock lock(mutex);
      begun = true;
      changed.notify_all();
      EXPECT_TRUE(changed.wait_for(lock, 30s, [&] { return go_on; })) << "others had to wait";
    }
    return w.real.make_plan(wanted);
  };
  EXPECT_EQ(w.predict(1).count(), 1);
  int late = 0;
  std::thread other([&] { late = w.predict(8).count(); });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 30s, [&] { return begun; }));
  lock.unlock();
  EXPECT_EQ(w.predict(1).count(), 1);
  lock.lock();
  go_on = true;
  changed.notify_all();
  lock.unlock();
  other.join();
  EXPECT_EQ(late, 8);
}

TEST(predictor, creates_each_plan_once_and_retries_after_a_failure) {
  watched w;
  int made = 0;
  bool fails = true;
  w.handle.make_plan = [&](plan_settings const& wanted) {
    if (fails) throw std::runtime_error("no plan today");
    ++made;
    return w.real.make_plan(wanted);
  };
  EXPECT_THROW(w.predict(2), std::runtime_error);
  fails = false;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(w.predict(2).count(), 2);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(w.predict(4).count(), 4);
  EXPECT_EQ(made, 2);
}

TEST(predictor, uses_changed_parameters) {
  watched w;
  auto const before = w.predict(3).values;
  w.handle.parameters->initialise(8);
  auto const after = w.predict(3).values;
  EXPECT_NE(after, before);
  w.handle.parameters->initialise(7);
  EXPECT_EQ(w.predict(3).values, before);
}

}  // namespace predictor_test
