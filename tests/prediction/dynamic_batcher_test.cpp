// SPDX-License-Identifier: Apache-2.0
// covers: prediction/pending_predictions
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/prediction/dynamic_batcher.hpp>
#include <cohort/training/trainer.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>
#include "../data/refused.hpp"
#include "../training/bright_thirds.hpp"

namespace dynamic_batcher_test {

using namespace cohort;
using namespace std::chrono_literals;
using cohort_test::bright_thirds;
using cohort_test::small;

constexpr auto no_end = 1h;

/// Doubles numbers, batch by batch. Each batch starts when allowed, and records its number of examples.
class gate {
 public:
  predictions operator()(std::span<tensor_view const> inputs) {
    {
      std::unique_lock lock(mutex_);
      sizes_.push_back(inputs[0].dims[0]);
      changed_.notify_all();
      changed_.wait_for(lock, 30s, [&] { return open_; });
    }
    predictions made{.example = {1}, .values = {}};
    for (float const value : inputs[0].as<float>()) {
      if (value < 0) throw std::runtime_error("a negative number");
      made.values.push_back(2 * value);
    }
    return made;
  }
  void open() {
    std::lock_guard const lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::vector<int> sizes() {
    std::lock_guard const lock(mutex_);
    return sizes_;
  }
  void wait_for_runs(std::size_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, 30s, [&] { return sizes_.size() >= count; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::vector<int> sizes_;
};

struct gated {
  gate run{};
  std::optional<dynamic_batcher> batcher{};

  explicit gated(dynamic_batching const& how) {
    batcher.emplace([this](std::span<tensor_view const> inputs) { return run(inputs); },
                    std::vector<shape>{{1}}, how);
  }
  ~gated() { run.open(); }
  pending_predictions submit(std::vector<float> const& numbers) { return batcher->submit(view(numbers)); }
  static tensor_view view(std::vector<float> const& numbers) {
    return {numbers.data(), shape{static_cast<int>(numbers.size()), 1}};
  }
};

using list = std::vector<float>;

TEST(dynamic_batcher, combines_calls_and_returns_the_rows_of_each) {
  list const first{1}, a{2, 3}, b{4}, c{5, 6};
  gated g({.max_batch = 4, .max_delay = 0us});
  auto one = g.submit(first);
  g.run.wait_for_runs(1);  // the first call is running, so the others have to wait
  auto two = g.submit(a), three = g.submit(b), four = g.submit(c);
  EXPECT_EQ(g.batcher->queued(), 5);
  g.run.open();
  EXPECT_EQ(one.get().values, (list{2}));
  EXPECT_EQ(two.get().values, (list{4, 6}));
  EXPECT_EQ(three.get().values, (list{8}));
  predictions const last = four.get();
  EXPECT_EQ(last.values, (list{10, 12}));
  EXPECT_EQ(last.example, shape{1});
  EXPECT_EQ(g.run.sizes(), (std::vector<int>{1, 3, 2})) << "c did not fit behind a and b";
  EXPECT_EQ(g.batcher->queued(), 0);
}

TEST(dynamic_batcher, cancels_a_call_if_its_pending_predictions_are_overwritten) {
  list const first{1}, a{2, 3}, b{4};
  gated g({.max_batch = 4, .max_delay = 0us});
  auto one = g.submit(first);
  g.run.wait_for_runs(1);
  auto answer = g.submit(a), other = g.submit(b);
  answer = std::move(other);
  g.run.open();
  EXPECT_EQ(answer.get().values, (list{8}));
  EXPECT_EQ(one.get().values, (list{2}));
  EXPECT_EQ(g.run.sizes(), (std::vector<int>{1, 1})) << "a ran although nobody waits for it";
}

TEST(dynamic_batcher, starts_a_run_when_a_batch_is_full_or_the_delay_has_expired) {
  list const one{1};
  gated patient({.max_batch = 3, .max_delay = no_end});
  patient.run.open();
  std::vector<pending_predictions> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(patient.submit(one));
  for (auto& answer : answers) EXPECT_EQ(answer.get().values, (list{2}));
  EXPECT_EQ(patient.run.sizes(), (std::vector<int>{3}));
  gated hasty({.max_batch = 3, .max_delay = 2ms});
  hasty.run.open();
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_EQ(hasty.batcher->predict(hasty.view(one)).values, (list{2}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
}

TEST(dynamic_batcher, reports_an_error_only_to_the_affected_call) {
  list const good{1}, bad{-1};
  gated g({.max_batch = 2, .max_delay = 0us});
  auto first = g.submit(good);
  g.run.wait_for_runs(1);
  auto beside = g.submit(good), wrong = g.submit(bad), after = g.submit(good);
  g.run.open();
  EXPECT_EQ(first.get().values, (list{2}));
  EXPECT_THROW(beside.get(), std::runtime_error) << "it was in the same batch";
  EXPECT_THROW(wrong.get(), std::runtime_error);
  EXPECT_EQ(after.get().values, (list{2}));
}

TEST(dynamic_batcher, refuses_a_call_larger_than_a_batch_without_affecting_others) {
  list const good{1}, many{1, 2, 3};
  gated g({.max_batch = 2, .max_delay = 0us});
  g.run.open();
  expect_parts(refused<setting_error>([&] { g.submit(many); }), {"more examples than a batch", "2", "3"});
  expect_parts(refused<shape_error>([&] {
                 g.batcher->submit({many.data(), shape{1, 3}});
               }),
               {"shape or type", "input 0", "1x1 x f32", "1x3 x f32"});
  expect_parts(refused<shape_error>([&] { g.batcher->submit({many.data(), shape{0, 1}}); }), {"0 examples"});
  std::vector<double> const wide{1};
  expect_parts(refused<shape_error>([&] { g.batcher->submit({wide.data(), shape{1, 1}}); }), {"f64"});
  EXPECT_EQ(g.submit(good).get().values, (list{2}));
  for (dynamic_batching const& how :
       {dynamic_batching{.max_batch = 0}, dynamic_batching{.runs = 0},
        dynamic_batching{.max_batch = 8, .max_queue = 7}, dynamic_batching{.max_delay = -1us},
        dynamic_batching{.max_delay = std::chrono::microseconds::max()}, dynamic_batching{.deadline = 0ms},
        dynamic_batching{.deadline = std::chrono::milliseconds::max()}})
    EXPECT_THROW(gated{how}, setting_error);
}

TEST(dynamic_batcher, refuses_calls_while_its_queue_is_full_if_set) {
  list const one{1}, two{1, 2};
  gated g({.max_batch = 2, .max_delay = 0us, .max_queue = 3, .full = when_full::refuse});
  auto running = g.submit(one);
  g.run.wait_for_runs(1);
  auto a = g.submit(two), b = g.submit(one);
  expect_parts(refused<deadline_error>([&] { g.submit(one); }),
               {"queue", "full", "at most 3 examples", "3 queued"});
  g.run.open();
  for (auto* answer : {&running, &a, &b}) EXPECT_NO_THROW(answer->get());
  EXPECT_EQ(g.submit(one).get().values, (list{2}));
}

TEST(dynamic_batcher, blocks_callers_while_the_queue_is_full) {
  list const one{1};
  gated g({.max_batch = 1, .max_delay = 0us, .max_queue = 1});
  auto running = g.submit(one);
  g.run.wait_for_runs(1);
  auto waiting = g.submit(one);
  expect_parts(refused<deadline_error>([&] {
                 tensor_view const input = g.view(one);
                 g.batcher->submit({&input, 1}, 1ms);
               }),
               {"full"});
  tensor_view const input = g.view(one);
  std::mutex mutex;
  std::condition_variable told;
  bool answered = false;
  list patient;
  std::thread caller([&] {
    patient = g.batcher->predict({&input, 1}, 1h).values;
    std::lock_guard const lock(mutex);
    answered = true;
    told.notify_one();
  });
  auto const is_answered = [&](std::chrono::milliseconds within) {
    std::unique_lock lock(mutex);
    return told.wait_for(lock, within, [&] { return answered; });
  };
  EXPECT_FALSE(is_answered(50ms)) << "there is no room";
  g.run.open();
  ASSERT_TRUE(is_answered(30s)) << "nobody told it of the room";
  caller.join();
  EXPECT_EQ(patient, (list{2}));
  EXPECT_EQ(waiting.get().values, (list{2}));
}

TEST(dynamic_batcher, times_out_calls_that_are_not_answered) {
  list const one{1};
  tensor_view const input = gated::view(one);
  gated g({.max_batch = 1, .max_delay = 0us});
  auto running = g.batcher->submit({&input, 1}, 30s);
  g.run.wait_for_runs(1);
  EXPECT_THROW(g.batcher->predict({&input, 1}, 1ms), deadline_error) << "in the queue";
  auto next = g.submit(one);
  { auto const dropped = g.submit(one); }
  EXPECT_FALSE(next.is_ready());
  g.run.open();
  EXPECT_EQ(running.get().values, (list{2}));
  EXPECT_EQ(next.get().values, (list{2}));
  g.batcher->stop();
  EXPECT_EQ(g.run.sizes(), (std::vector<int>{1, 1})) << "who has gone is not predicted";
}

TEST(dynamic_batcher, does_not_count_expired_calls_as_queued) {
  list const one{1};
  tensor_view const input = gated::view(one);
  gated g({.max_batch = 1, .max_delay = 0us, .max_queue = 1, .full = when_full::refuse});
  auto running = g.submit(one);
  g.run.wait_for_runs(1);
  auto late = g.batcher->submit({&input, 1}, 1ms);
  EXPECT_EQ(refused<deadline_error>([&] { late.get(); }),
            "the call was not answered within its deadline (dynamic_batcher): expected an answer within "
            "dynamic_batching::deadline, got none; use fewer callers, more runs or a longer deadline");
  EXPECT_TRUE(late.is_ready());
  EXPECT_THROW(late.get(), deadline_error) << "again";
  auto next = g.submit(one);
  g.run.open();
  EXPECT_EQ(next.get().values, (list{2}));
  EXPECT_EQ(refused<setting_error>([&] { next.get(); }),
            "get was called twice for one call (pending_predictions::get): expected one call of get for each "
            "submit, got a second call");
}

/// A batch of one example of a masked sequence.
batch_view series_of(std::vector<float> const& values, std::vector<std::uint8_t> const& mask) {
  batch_view made;
  made.inputs = {tensor_view{values.data(), {1, 3, 2}}};
  if (!mask.empty()) made.masks = {tensor_view{mask.data(), {1, 3}}};
  made.count = 1;
  return made;
}

class dynamic_batcher_of_series : public testing::TestWithParam<bool> {};

TEST_P(dynamic_batcher_of_series, answers_calls_with_and_without_masks) {
  training const model = trainer<reference<float>>(graph::build([](builder& b) {
    tensor const series = GetParam() ? b.padded_input({3, 2}, 7, "series") : b.masked_input({3, 2}, "series");
    return series | global_avg_pool{} | dense{.units = 2};
  }));
  dynamic_batcher batcher(model, {.max_batch = 3, .max_delay = 1ms});
  std::vector<float> const a{1, 2, 3, 4, 5, 6}, b{2, 1, 7, 7, 4, 8};
  std::vector<std::uint8_t> const two{1, 1, 0}, one{1, 0, 0};
  EXPECT_EQ(model.predict(series_of(b, {})).values == model.predict(series_of(b, {1, 0, 1})).values,
            GetParam());
  auto first = batcher.submit(series_of(a, two)), second = batcher.submit(series_of(b, {})),
       third = batcher.submit(series_of(b, one));
  EXPECT_EQ(first.get().values, model.predict(series_of(a, two)).values);
  EXPECT_EQ(second.get().values, model.predict(series_of(b, {})).values);
  EXPECT_EQ(third.get().values, model.predict(series_of(b, one)).values);
  batch_view wrong = series_of(a, two);
  wrong.masks[0].dims = {1, 2};
  expect_parts(refused<shape_error>([&] { batcher.submit(wrong); }),
               {"a mask of a call has the wrong shape or type (mask 0): expected 1x3 x u8, got 1x2 x u8"});
}

INSTANTIATE_TEST_SUITE_P(series, dynamic_batcher_of_series, testing::Values(false, true));

TEST(dynamic_batcher, combines_calls_of_indices_of_the_same_type) {
  training const model = trainer<reference<float>>(graph::build([](builder& b) {
    return b.input({2}, "words") | embedding{.vocabulary = 5, .width = 3} | flatten{} | dense{.units = 2};
  }));
  dynamic_batcher batcher(model, {.max_batch = 4, .max_delay = 1ms});
  std::int32_t const words[]{4, 1, 0, 3};
  float const numbers[]{4, 1};
  auto first = batcher.submit(tensor_view{words, {1, 2}}),
       second = batcher.submit(tensor_view{numbers, {1, 2}}),
       third = batcher.submit(tensor_view{words + 2, {1, 2}});
  predictions const wanted = model.predict(tensor_view{words, {2, 2}});
  std::vector<float> const one(wanted[0].begin(), wanted[0].end()), two(wanted[1].begin(), wanted[1].end());
  EXPECT_EQ(first.get().values, one);
  EXPECT_EQ(second.get().values, one);
  EXPECT_EQ(third.get().values, two);
  std::uint8_t const bytes[]{1, 2};
  expect_parts(refused<shape_error>([&] {
                 batcher.submit(tensor_view{bytes, {1, 2}});
               }),
               {"input 0", "1x2 x f32 or i32", "1x2 x u8"});
  batch_view masked;
  masked.inputs = {tensor_view{words, {1, 2}}};
  masked.masks = {tensor_view{bytes, {1, 2}}};
  expect_parts(refused<shape_error>([&] { batcher.submit(masked); }),
               {"a call has the wrong number of masks: expected 0", "got 1"});
}

TEST(dynamic_batcher, reports_a_run_that_returns_too_few_rows) {
  list const two{1, 2};
  tensor_view const input{two.data(), shape{2, 1}};
  dynamic_batcher batcher(
      [](std::span<tensor_view const>) {
        return predictions{shape{1}, {1}};
      },
      {shape{1}}, {});
  EXPECT_THROW(batcher.predict(input), shape_error);
}

TEST(dynamic_batcher, releases_a_caller_whose_run_exceeds_its_deadline) {
  gated g({.max_batch = 1, .max_delay = 0us});
  {
    list const one{1};
    tensor_view const input = g.view(one);
    EXPECT_THROW(g.batcher->predict({&input, 1}, 2ms), deadline_error);
  }  // its memory is freed too
  g.run.open();
  list const two{2};
  EXPECT_EQ(g.submit(two).get().values, (list{4}));
}

TEST(dynamic_batcher, answers_pending_calls_when_it_stops_and_accepts_no_more) {
  list const one{1};
  gated g({.max_batch = 4, .max_delay = no_end});
  auto a = g.submit(one), b = g.submit(one);
  g.run.open();
  g.batcher->stop();
  EXPECT_EQ(a.get().values, (list{2}));
  EXPECT_EQ(b.get().values, (list{2}));
  EXPECT_EQ(g.run.sizes(), (std::vector<int>{2}));
  expect_parts(refused<setting_error>([&] { g.submit(one); }), {"stopped"});
  g.batcher->stop();
}

TEST(dynamic_batcher, serves_many_callers_of_a_network_by_several_runs) {
  bright_thirds const examples(60);
  training const made = trainer<reference<float>>(small, {.seed = 7});
  tensor_view const all(examples.pixels.data(), shape{60, 1, 8, 8});
  std::vector<float> const expected = made.predict(all).values;
  dynamic_batcher batcher(made, {.max_batch = 8, .max_delay = 100us, .max_queue = 16, .runs = 2});
  std::atomic<int> right{0};
  {
    std::vector<std::thread> callers;
    for (int t = 0; t < 6; ++t)
      callers.emplace_back([&, t] {
        for (int first = t; first < 58; first += 6) {
          int const count = 1 + first % 2;
          auto const got = batcher.predict(all.rows(first, count)).values;
          right += std::equal(got.begin(), got.end(), expected.begin() + 3 * first)
                   && got.size() == static_cast<std::size_t>(3 * count);
        }
      });
    for (std::thread& one : callers) one.join();
  }
  EXPECT_EQ(right.load(), 58);
}

}  // namespace dynamic_batcher_test
