// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/trainer.hpp>
#include <string_view>
#include <vector>
#include "../training/bright_thirds.hpp"

namespace exchange_meter_test {

using namespace cohort;
using namespace cohort_test;
using clock = detail::exchange_meter::clock;

double value_of(std::vector<measurement> const& all, std::string_view name) {
  for (measurement const& one : all)
    if (one.name == name) return one.value;
  ADD_FAILURE() << name;
  return -1;
}

TEST(exchange_meter, measures_a_transfer_from_its_first_start_to_its_last_end) {
  detail::exchange_meter meter;
  auto const late = clock::now() + std::chrono::hours(1);
  for (int part = 0; part < 3; ++part) meter.start(10, 20);
  meter.measure_wait([&] { return late; });
  meter.measure_wait([&] { return late - std::chrono::minutes(30); });
  meter.finish();
  auto const all = meter.report();
  EXPECT_EQ(value_of(all, "message_bytes"), 30);
  EXPECT_EQ(value_of(all, "dense_bytes"), 60);
  EXPECT_NEAR(value_of(all, "transfer_seconds"), 3600, 60);
  EXPECT_LT(value_of(all, "waited_seconds"), 60);
  EXPECT_GT(value_of(all, "hidden"), 0.98);
  EXPECT_EQ(meter.last().transfer.end, late);
}

TEST(exchange_meter, reports_nothing_hidden_without_pending_transfers) {
  detail::exchange_meter meter;
  EXPECT_EQ(value_of(meter.report(), "hidden"), 0);
  meter.finish();
  meter.start(1, 1);
  meter.measure_wait([] { return clock::time_point(); });  // as for an operation that ended long ago
  meter.finish();
  EXPECT_EQ(value_of(meter.report(), "transfer_seconds"), 0);
  EXPECT_EQ(value_of(meter.report(), "hidden"), 0);
  EXPECT_EQ(meter.last().transfer.end, meter.last().transfer.begin);
}

TEST(exchange_meter, counts_a_pending_exchange_as_hidden_until_its_wait) {
  for (bool const goes_on : {false, true}) {
    detail::exchange_meter meter;
    auto const begin = clock::now();
    meter.start(1, 1);
    meter.measure_wait([] { return clock::now(); });
    std::chrono::duration<double> const before = clock::now() - begin;
    if (goes_on) meter.end_wait();
    for (auto const until = clock::now() + std::chrono::milliseconds(20); clock::now() < until;) continue;
    meter.measure_wait([] { return clock::now(); });
    meter.finish();
    double const hideable = value_of(meter.report(), "hideable_seconds");
    if (goes_on)
      EXPECT_GE(hideable, 0.02);
    else
      EXPECT_LE(hideable, before.count());
  }
}

/// Report of a strategy after 8 steps on each of two ranks.
template <class Strategy>
std::vector<measurement> measured_by(communicator& world, Strategy const& how) {
  bright_thirds const examples(64);
  training made = trainer<reference<float>>(small, world, how, {.seed = 7});
  made.fit(examples.data(), {.batch = 4, .epochs = 1});
  auto const n = static_cast<double>(made.parameters().elements());
  auto all = made.exchange_report();
  all.push_back({"n", n});
  return all;
}

TEST(exchange_meter, measures_allreduce_with_f32_and_bf16_wires) {
  launch<threads>(2, [](communicator& world) {
    for (bool const narrow : {false, true}) {
      allreduce how;
      if (narrow) how.wire = element_type::bf16;
      auto const all = measured_by(world, how);
      double const n = value_of(all, "n"), hidden = value_of(all, "hidden");
      EXPECT_EQ(value_of(all, "exchanges"), 8);
      EXPECT_EQ(value_of(all, "dense_bytes"), 8 * 4 * n);
      EXPECT_EQ(value_of(all, "message_bytes"), 8 * (narrow ? 2 : 4) * n);
      EXPECT_GT(value_of(all, "transfer_seconds"), 0);
      EXPECT_GT(value_of(all, "hideable_seconds"), 0);
      EXPECT_GE(hidden, 0);
      EXPECT_LE(hidden, 1);
      EXPECT_GT(value_of(all, "encode_seconds"), 0);
      EXPECT_GT(value_of(all, "apply_seconds"), 0);
    }
  });
}

TEST(exchange_meter, counts_the_exchanges_of_averaging_with_and_without_overlap) {
  launch<threads>(2, [](communicator& world) {
    for (bool const overlap : {false, true}) {
      auto const all = measured_by(
          world, parameter_averaging{.every = 4, .average_optimizer_state = false, .overlap = overlap});
      int const sent = overlap ? 3 : 2;  // the last mean is finished at the epoch's end, by another call
      EXPECT_EQ(value_of(all, "exchanges"), sent);
      EXPECT_EQ(value_of(all, "dense_bytes"), sent * 4 * value_of(all, "n"));
      EXPECT_GT(value_of(all, "hideable_seconds"), 0);
    }
  });
}

TEST(exchange_meter, reports_no_transfers_for_a_single_rank) {
  launch<self>([](communicator& world) {
    EXPECT_EQ(measured_by(world, allreduce{}).size(), 1U);
    EXPECT_EQ(measured_by(world, parameter_averaging{}).size(), 1U);
  });
}

}  // namespace exchange_meter_test
