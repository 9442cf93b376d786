// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/trainer.hpp>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bright_thirds.hpp"

namespace activity_scope_test {

using namespace cohort_test;
using namespace std::chrono_literals;

/// Blocks the reader of an example until `released`, at most a minute.
struct hanging_dataset {
  bright_thirds const* examples;
  std::int64_t where;
  std::atomic<bool> const* released;
  data_description description = examples->data().describe();

  data_description const& describe() const { return description; }
  std::int64_t size() const { return std::ssize(examples->labels); }
  void get(std::int64_t i, example_view& out) const {
    auto const limit = std::chrono::steady_clock::now() + 60s;
    while (i == where && !released->load() && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
    out.point(0, examples->pixels.data() + 64 * i);
    out.point(1, examples->labels.data() + i);
  }
};

/// Runs the body on `ranks` threads. Rank 1 is released when all others have failed. Returns their messages.
std::vector<std::string> messages(int ranks,
                                  std::function<void(communicator&, std::atomic<bool> const&)> body) {
  thread_ranks hub(ranks, {.deadline = 400ms});
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  std::atomic<int> failed{0};
  std::atomic<bool> released{false};
  std::vector<std::thread> running;
  for (int rank = 0; rank < ranks; ++rank)
    running.emplace_back([&, rank] {
      auto const world = hub.make(rank);
      try {
        body(*world, released);
      } catch (communicator_error const& e) {
        thrown[static_cast<std::size_t>(rank)] = e.what();
      } catch (std::exception const& e) {
        thrown[static_cast<std::size_t>(rank)] = std::string("not a communicator_error: ") + e.what();
        world->abort(e.what());
      }
      if (++failed == ranks - 1) released = true;
    });
  for (std::thread& one : running) one.join();
  return thrown;
}

void expect_rank_1_named(std::vector<std::string> const& thrown, std::string const& progress) {
  for (std::size_t rank = 0; rank < thrown.size(); ++rank)
    if (rank != 1) {
      EXPECT_EQ(thrown[rank].find("rank 1 does not respond; it was last " + progress), 0U) << thrown[rank];
    }
}

TEST(activity_scope, reports_a_rank_that_hangs_in_an_evaluation) {
  bright_thirds const examples(48);
  expect_rank_1_named(
      messages(3,
               [&](communicator& world, std::atomic<bool> const& released) {
                 training made = trainer<reference<float>>(small, world, allreduce{});
                 made.fit(examples.data(), {.batch = 8, .epochs = 1});
                 std::int64_t const where = world.rank() == 1 ? 10 : -1;
                 (void)made.evaluate(hanging_dataset{&examples, where, &released}, {.batch = 8});
               }),
      "evaluating after step 1");
}

TEST(activity_scope, reports_a_rank_that_hangs_while_saving) {
  struct hanging_sink {
    std::atomic<bool> const* released;
    void write(char const*, int) {
      auto const limit = std::chrono::steady_clock::now() + 60s;
      while (!released->load() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    }
  };
  bright_thirds const examples(48);
  std::atomic<bool> const at_once{true};
  expect_rank_1_named(messages(3,
                               [&](communicator& world, std::atomic<bool> const& released) {
                                 training made = trainer<reference<float>>(small, world, allreduce{});
                                 made.fit(examples.data(), {.batch = 8, .epochs = 1});
                                 hanging_sink sink{world.rank() == 1 ? &released : &at_once};
                                 made.save(sink);
                                 world.barrier();
                               }),
                      "saving after step 1");
}

TEST(activity_scope, reports_on_every_rank_of_sharing_a_rank_that_hangs_in_the_data_set) {
  bright_thirds const examples(96);
  for (bool const updates : {false, true}) {
    threshold_sharing how;
    how.settings.share = updates ? share::update : share::gradient;
    auto const thrown = messages(4, [&](communicator& world, std::atomic<bool> const& released) {
      training made = trainer<reference<float>>(small, world, how);
      dataset data = examples.data();
      if (world.rank() == 1) data = hanging_dataset{&examples, 40, &released};
      made.fit(data, {.batch = 8, .epochs = 2, .shuffle = false});
    });
    for (std::size_t rank : {0U, 2U, 3U}) EXPECT_EQ(thrown[rank].find("rank 1 "), 0U) << thrown[rank];
  }
}

}  // namespace activity_scope_test
