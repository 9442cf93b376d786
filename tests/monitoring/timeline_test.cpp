// SPDX-License-Identifier: Apache-2.0
#include "../plan/counted_new.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/io/json.hpp>
#include <cohort/monitoring/timeline.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>
#include "../training/bright_thirds.hpp"

namespace timeline_test {

using namespace cohort;
using namespace cohort_test;

struct drawn {
  std::string name;
  std::int64_t rank, track;
  double begin, end;
  std::int64_t step = -1;
};

std::vector<drawn> spans_of(std::string const& trace) {
  io::json_document const read = io::parse_json(trace);
  std::vector<drawn> all;
  for (io::json_value const one : read.root().at("traceEvents").items()) {
    if (one.at("ph").string() != "X") continue;
    double const begin = one.at("ts").number();
    drawn span{std::string(one.at("name").string()), one.at("pid").integer(), one.at("tid").integer(), begin,
               begin + one.at("dur").number()};
    if (span.name == "step") span.step = one.at("args").at("step").integer();
    all.push_back(span);
  }
  return all;
}

std::vector<drawn> those(std::vector<drawn> const& all, std::string const& name, std::int64_t rank) {
  std::vector<drawn> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](drawn const& one) { return one.name == name && one.rank == rank; });
  return some;
}

/// In each track of each rank, spans are disjoint or nested.
void expect_no_overlap(std::vector<drawn> const& all) {
  constexpr double rounding = 1e-3;  // of µs: a nanosecond
  for (drawn const& a : all)
    for (drawn const& b : all) {
      if (&a >= &b || a.rank != b.rank || a.track != b.track) continue;
      bool const apart = a.end <= b.begin + rounding || b.end <= a.begin + rounding;
      bool const within = (a.begin <= b.begin + rounding && b.end <= a.end + rounding)
                          || (b.begin <= a.begin + rounding && a.end <= b.end + rounding);
      EXPECT_TRUE(apart || within) << a.name << ' ' << a.begin << '-' << a.end << ", " << b.name << ' '
                                   << b.begin << '-' << b.end;
    }
}

/// Trains an epoch of 8 steps and returns the trace of the last `newest` steps; empty on ranks other than 0.
template <class Strategy>
std::string traced(communicator& world, Strategy const& how, std::int64_t newest, int accumulate = 1) {
  bright_thirds const examples(32 * world.size());
  timeline times(world, newest);
  training made = trainer<reference<float>>(small, world, how, {.seed = 7, .workers = 2});
  made.fit(examples.data(), {.batch = 4, .epochs = 1, .accumulate = accumulate, .listeners = {&times}});
  std::string const text = times.trace();
  EXPECT_EQ(text.empty(), world.rank() > 0);
  return text;
}

TEST(timeline, contains_every_step_of_every_rank_without_overlap) {
  launch<threads>(3, [](communicator& world) {
    std::string const text = traced(world, allreduce{}, 100);
    if (world.rank() > 0) return;
    auto const all = spans_of(text);
    expect_no_overlap(all);
    for (int rank = 0; rank < 3; ++rank) {
      auto const steps = those(all, "step", rank);
      ASSERT_EQ(steps.size(), 8U);
      for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(steps[k].step, static_cast<std::int64_t>(k));
      auto const forward = those(all, "forward", rank), backward = those(all, "backward", rank);
      ASSERT_EQ(forward.size(), 8U);
      ASSERT_EQ(backward.size(), 8U);
      for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(forward[k].end, backward[k].begin, 1e-2);
      EXPECT_TRUE(those(all, "forward and backward", rank).empty());
      for (drawn const& one : those(all, "transfer", rank)) EXPECT_NE(one.track, steps[0].track);
    }
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](drawn const& one) { return one.begin >= 0; }));
  });
}

TEST(timeline, keeps_the_newest_steps_in_order) {
  launch<threads>(2, [](communicator& world) {
    std::string const text = traced(world, allreduce{}, 3);
    if (world.rank() > 0) return;
    for (int rank = 0; rank < 2; ++rank) {
      auto const steps = those(spans_of(text), "step", rank);
      ASSERT_EQ(steps.size(), 3U);
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(steps[k].step, static_cast<std::int64_t>(5 + k));
    }
  });
}

TEST(timeline, aligns_ranks_in_time) {
  launch<threads>(2, [](communicator& world) {
    std::string const text = traced(world, allreduce{}, 100);
    if (world.rank() > 0) return;
    auto const all = spans_of(text);
    auto const here = those(all, "step", 0), there = those(all, "step", 1);
    for (std::size_t k = 0; k + 1 < here.size();
         ++k) {  // no rank ends a step before the other has started it
      EXPECT_LT(here[k].begin, there[k].end + 1e3);
      EXPECT_LT(there[k].begin, here[k].end + 1e3);
    }
  });
}

TEST(timeline, contains_a_single_compute_span_for_micro_batches) {
  launch<threads>(2, [](communicator& world) {
    std::string const text = traced(world, parameter_averaging{.every = 3, .overlap = true}, 100, 2);
    if (world.rank() > 0) return;
    auto const all = spans_of(text);
    expect_no_overlap(all);
    EXPECT_EQ(those(all, "forward and backward", 1).size(), 8U);
    EXPECT_TRUE(those(all, "forward", 1).empty());
    EXPECT_LE(those(all, "transfer", 1).size(),
              1U);  // of the one applied at step 6; the last one ends with the epoch
  });
}

TEST(timeline, is_a_valid_trace_for_one_rank_and_for_no_step) {
  launch<self>([](communicator& world) {
    EXPECT_EQ(spans_of(timeline(world).trace()).size(), 0U);
    auto const all = spans_of(traced(world, no_exchange{}, 100));
    EXPECT_EQ(those(all, "step", 0).size(), 8U);
    EXPECT_TRUE(those(all, "transfer", 0).empty());
    expect_no_overlap(all);
  });
}

TEST(timeline, allocates_nothing_in_a_step) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  launch<self>([](communicator& world) {
    training made = trainer<reference<float>>(small, world, allreduce{});
    timeline times(world, 4);
    allocations = 0;
    counting = true;
    for (int step = 0; step < 10; ++step) times.on_step(made, {.step = step});
    counting = false;
    EXPECT_EQ(allocations, 0);
  });
}

TEST(timeline, refuses_invalid_numbers_of_steps) {
  launch<self>([](communicator& world) {
    EXPECT_THROW(timeline(world, 0), setting_error);
    EXPECT_THROW(timeline(world, std::int64_t{1} << 40), setting_error);
  });
}

}  // namespace timeline_test
