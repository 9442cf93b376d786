// SPDX-License-Identifier: Apache-2.0
// Compares the simulator's event engine with times computed by hand.
#include "../../benchmarks/simulator/simulated_cluster.hpp"

#include <gtest/gtest.h>

#include <cohort/strategy/detail/weighted_sum.hpp>

namespace {

using namespace benchmarks;
using kind = action::kind;
using collective = action::collective;

constexpr fabric plain{.latency = 1e-3, .bytes_per_second = 1e6};

void add(schedule& to, collective which, std::size_t bytes, int peer = 0) {
  int const number = static_cast<int>(to.size());
  to.push_back({.what = kind::start, .operation = number, .which = which, .count = bytes, .peer = peer});
  to.push_back({.what = kind::wait, .operation = number});
}
schedule one(collective which, std::size_t bytes, int peer = 0) {
  schedule made;
  add(made, which, bytes, peer);
  return made;
}
simulated run(std::vector<schedule> const& all, fabric const& how, speeds const& speed = {},
              int repeats = 1) {
  simulated_cluster cluster(static_cast<int>(all.size()), how, speed);
  return cluster.run([&](int r) -> schedule const& { return all[static_cast<std::size_t>(r)]; }, repeats);
}
/// Steps of compute, with an allreduce after every `every` steps.
schedule training(double compute, std::size_t bytes, int every) {
  schedule made;
  for (int step = 0; step < every; ++step) {
    made.push_back({.what = kind::step});
    made.push_back({.what = kind::compute, .seconds = compute});
  }
  add(made, collective::allreduce, bytes);
  return made;
}

TEST(simulated_cluster, a_message_takes_latency_plus_size_over_bandwidth) {
  auto const sent = run({one(collective::send, 4000, 1), one(collective::receive, 4000, 0)}, plain);
  EXPECT_NEAR(sent.seconds, 1e-3 + 4e-3, 1e-12);
  EXPECT_EQ(sent.bytes_sent, 2000);  // mean of both ranks
}

TEST(simulated_cluster, counts_the_processor_time_of_sender_and_receiver) {
  fabric how = plain;
  how.message_seconds = 5e-4;
  EXPECT_NEAR(run({one(collective::send, 4000, 1), one(collective::receive, 4000, 0)}, how).seconds, 6e-3,
              1e-12);
}

TEST(simulated_cluster, a_processor_sends_while_it_waits_for_another_message) {
  fabric how = plain;
  how.message_seconds = 5e-4;
  // Rank 1 receives 4,000 bytes until 6 ms. At 2 ms it begins to send 1,000 bytes to rank 2: 2.5 + 1 + 1 ms,
  // and 0.5 ms at the receiver.
  schedule sends{
      {.what = kind::start, .operation = 0, .which = collective::receive, .count = 4000, .peer = 0},
      {.what = kind::compute, .seconds = 2e-3},
      {.what = kind::start, .operation = 2, .which = collective::send, .count = 1000, .peer = 2},
      {.what = kind::wait, .operation = 2}};
  schedule receives = one(collective::receive, 1000, 1);
  receives.push_back({.what = kind::compute, .seconds = 1});  // so that it ends last
  EXPECT_NEAR(run({one(collective::send, 4000, 1), sends, receives}, how).seconds, 1.005, 1e-9);
}

TEST(simulated_cluster, two_flows_share_the_interface_of_their_receiver) {
  schedule both;
  add(both, collective::receive, 4000, 1);
  add(both, collective::receive, 4000, 2);
  auto const sent = run({both, one(collective::send, 4000, 0), one(collective::send, 4000, 0)}, plain);
  EXPECT_NEAR(sent.seconds, 1e-3 + 8e-3, 1e-12);
}

TEST(simulated_cluster, ranks_of_a_host_share_its_interface_and_use_memory_among_themselves) {
  fabric how = plain;
  how.ranks_per_host = 2;
  how.local_latency = 1e-4;
  how.local_bytes_per_second = 1e8;
  EXPECT_NEAR(run({one(collective::send, 4000, 1), one(collective::receive, 4000, 0)}, how).seconds,
              1e-4 + 4e-5, 1e-12);
  EXPECT_NEAR(run({one(collective::send, 4000, 2), one(collective::send, 4000, 3),
                   one(collective::receive, 4000, 0), one(collective::receive, 4000, 1)},
                  how)
                  .seconds,
              1e-3 + 8e-3, 1e-12);
}

TEST(simulated_cluster, an_oversubscribed_uplink_limits_the_flows_between_racks) {
  fabric how = plain;
  how.hosts_per_rack = 2;
  std::vector<schedule> const flows{one(collective::send, 4000, 2), one(collective::send, 4000, 3),
                                    one(collective::receive, 4000, 0), one(collective::receive, 4000, 1)};
  double const full = run(flows, how).seconds;
  how.oversubscription = 4;  // 0.5 MB/s for both flows
  EXPECT_NEAR(run(flows, how).seconds, 1e-3 + 8000 / 0.5e6, 1e-12);
  EXPECT_NEAR(full, 1e-3 + 4e-3 + 2e-3, 1e-12);  // the uplink transfers the messages one after another
}

TEST(simulated_cluster, matches_the_closed_form_cost_of_a_ring_allreduce) {
  for (int const ranks : {2, 8, 48}) {
    std::size_t const bytes = std::size_t{64} * 48 * 1024;  // above the bounds of the other algorithms
    std::vector<schedule> const all(static_cast<std::size_t>(ranks), one(collective::allreduce, bytes));
    auto const ring = run(all, plain);
    double const part = static_cast<double>(bytes) / ranks;
    double const segments = std::ceil(part / (512 << 10));
    EXPECT_NEAR(ring.seconds, 2 * (ranks - 1) * (segments * 1e-3 + part / 1e6), 1e-9) << ranks;
    EXPECT_NEAR(ring.bytes_sent, 2 * (ranks - 1) * part, 1);
    EXPECT_EQ(ring.messages_sent, 2 * (ranks - 1) * segments);
  }
}

TEST(simulated_cluster, selects_the_allreduce_algorithm_by_message_size) {
  auto const time = [](std::size_t bytes) {
    return run(std::vector<schedule>(16, one(collective::allreduce, bytes)), plain);
  };
  EXPECT_NEAR(time(16 << 10).seconds, 4 * (1e-3 + 16384 / 1e6), 1e-9);                   // doubling
  EXPECT_NEAR(time(512 << 10).seconds, 8e-3 + 2 * 15.0 / 16 * (512 << 10) / 1e6, 1e-9);  // halving
  EXPECT_EQ(time(512 << 10).messages_sent, 8);
  EXPECT_EQ(time(640 << 10).messages_sent, 30);  // ring
}

TEST(simulated_cluster, uses_recursive_halving_if_a_ring_needs_too_many_messages) {
  auto const run_of = [](int ranks, std::size_t bytes) {
    fabric const fast{.latency = 3e-5, .bytes_per_second = 1e9};
    return run(std::vector<schedule>(static_cast<std::size_t>(ranks), one(collective::allreduce, bytes)),
               fast);
  };
  EXPECT_EQ(run_of(64, 2'800'000).messages_sent, 12);
  EXPECT_EQ(run_of(64, 2'900'000).messages_sent, 126);
  EXPECT_EQ(run_of(96, 1'000'000).messages_sent, (2 * 64 * 6 + 2 * 32) / 96.0);  // 32 pairs
  EXPECT_LT(run_of(64, 2'800'000).seconds, 0.9 * run_of(64, 2'900'000).seconds);
}

TEST(simulated_cluster, passes_sizes_then_contributions_of_an_allgatherv_around_a_ring) {
  auto const all = run(std::vector<schedule>(4, one(collective::allgatherv, 1000)), plain);
  EXPECT_NEAR(all.seconds, 3 * (1e-3 + 8e-6) + 3 * (1e-3 + 1e-3), 1e-9);
}

TEST(simulated_cluster, a_straggler_limits_the_speed_and_rare_exchanges_average_random_delays) {
  auto const time = [](int every, speeds const& speed) {
    return run(std::vector<schedule>(4, training(0.1, 4000, every)), plain, speed, 10 / every).seconds;
  };
  speeds const slow{.slow_rank = 2, .slow_factor = 1.5};
  double const exchange = 2 * (1e-3 + 4e-3);  // recursive doubling
  EXPECT_NEAR(time(1, {}), 10 * (0.1 + exchange), 1e-9);
  EXPECT_NEAR(time(5, {}), 10 * 0.1 + 2 * exchange, 1e-9);
  // The others' messages have arrived when the slow rank begins its exchange, so it never waits.
  EXPECT_NEAR(time(1, slow), 10 * 0.15 + exchange, 1e-9);
  EXPECT_NEAR(time(5, slow), 10 * 0.15 + exchange, 1e-9);
  speeds const jitter{.jitter = 0.3, .seed = 7};
  EXPECT_LT(time(5, jitter), time(1, jitter) - 0.05);
}

TEST(simulated_cluster, reproduces_times_for_the_same_seed_only) {
  auto const time = [](std::uint64_t seed) {
    return run(std::vector<schedule>(8, training(0.1, 4000, 1)), plain, {.jitter = 0.2, .seed = seed}, 5)
        .seconds;
  };
  EXPECT_EQ(time(3), time(3));
  EXPECT_NE(time(3), time(4));
}

TEST(simulated_cluster, reports_a_receive_without_a_send) {
  EXPECT_THROW(run({one(collective::receive, 8, 1), schedule{}}, plain), cohort::communicator_error);
}

TEST(recorder, records_starts_and_waits_of_operations) {
  auto const log = std::make_shared<recording>();
  recorder world(0, 4, log);
  std::vector<float> values(1 << 19);  // 2 MiB: split_allreduce starts two halves
  cohort::detail::mean_over_ranks(world, cohort::element_type::f32,
                                  reinterpret_cast<std::byte*>(values.data()), values.size());
  schedule const& actions = log->actions();
  ASSERT_EQ(actions.size(), 4U);
  EXPECT_EQ(actions[0].count, values.size() / 2);
  EXPECT_EQ(actions[0].which, collective::allreduce);
  EXPECT_EQ(actions[1].what, kind::start);
  EXPECT_EQ(actions[2].what, kind::wait);
  EXPECT_EQ(actions[2].operation + actions[3].operation, 0 + 1);  // in either order
  // The halves use the link alternately: only the first and the last message wait for the latency.
  double const transfer = 2 * 3.0 / 4 * (2 << 20) / 1e6;
  double const replayed = run(std::vector<schedule>(4, actions), plain).seconds;
  EXPECT_GE(replayed, transfer);
  EXPECT_LE(replayed, transfer + 2e-3);
}

}  // namespace
