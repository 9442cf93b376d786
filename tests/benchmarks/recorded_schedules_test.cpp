// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// Compares the simulator's schedules with the traffic of the same training in threads.
#include "../../benchmarks/simulator/recorded_schedules.hpp"

#include <gtest/gtest.h>

#include <cohort/communicator/launch.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/layer/rectifying_activations.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/trainer.hpp>

#include "../../benchmarks/simulator/simulated_cluster.hpp"

namespace {

using namespace benchmarks;

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 16, 16}) | dense{.units = 300} | batch_norm{} | relu{} | dense{.units = 200} | relu{}
         | dense{.units = 10} | softmax_cross_entropy{};
}>();
trained_network const trained{"small", net, cohort::nesterov{.learning_rate = 1e-3}};
handle_maker const backend = cohort::detail::make_backend_handle<cohort::onednn>;

struct traffic_of_a_step {
  double bytes = 0, messages = 0;
};

/// Mean over the ranks in threads, and over some steps.
traffic_of_a_step real_traffic(simulated_strategy const& how, int ranks) {
  traffic_of_a_step all;
  cohort::launch<cohort::threads>(ranks, [&](cohort::communicator& world) {
    strategy_driver one(trained, backend, static_cast<std::uint64_t>(world.rank()), ranks, how.on(world), 0,
                        {.compute = [](double) {}, .call_hook = [](auto const& hook) { hook(); }});
    std::int64_t step = 0;
    while (step < how.period()) one.step(step++);
    cohort::traffic const before = world.sent();
    int const steps = 2 * how.period();
    for (int k = 0; k < steps; ++k) one.step(step++);
    cohort::traffic const after = world.sent();
    double sums[]{static_cast<double>(after.bytes_sent - before.bytes_sent) / (steps * ranks),
                  static_cast<double>(after.messages_sent - before.messages_sent) / (steps * ranks)};
    world.allreduce(std::span<double>(sums));
    if (world.rank() == 0) all = {sums[0], sums[1]};
  });
  return all;
}

traffic_of_a_step simulated_traffic(simulated_strategy const& how, int ranks) {
  auto const all = recorded_schedules(trained, backend, how, ranks, 1e-3).all();
  simulated_cluster cluster(ranks, {.latency = 1e-5, .bytes_per_second = 1e9});
  simulated const run =
      cluster.run([&](int r) -> schedule const& { return all[static_cast<std::size_t>(r)]; }, 4);
  return {run.bytes_sent / (4 * how.period()), run.messages_sent / (4 * how.period())};
}

TEST(recorded_schedules, send_as_many_messages_and_bytes_as_a_strategy_over_threads) {
  for (int const ranks : {2, 4, 8})
    for (auto const which : {simulated_strategy::kind::allreduce, simulated_strategy::kind::averaging}) {
      simulated_strategy const how{.which = which};
      traffic_of_a_step const real = real_traffic(how, ranks), made = simulated_traffic(how, ranks);
      EXPECT_DOUBLE_EQ(made.bytes, real.bytes) << how.period() << ' ' << ranks;
      EXPECT_DOUBLE_EQ(made.messages, real.messages) << how.period() << ' ' << ranks;
      EXPECT_GT(made.bytes, 0);
    }
}

TEST(recorded_schedules, approximate_the_bytes_of_merged_messages_within_20_percent) {
  for (int const ranks : {2, 4, 8, 16}) {
    simulated_strategy const how{.which = simulated_strategy::kind::sharing, .density = 0.01};
    traffic_of_a_step const real = real_traffic(how, ranks), made = simulated_traffic(how, ranks);
    EXPECT_EQ(made.messages, real.messages) << ranks;
    EXPECT_NEAR(made.bytes / real.bytes, 1, 0.2) << ranks;
  }
}

TEST(recorded_schedules, start_the_first_exchange_before_backward_ends) {
  schedule const all = recorded_schedules(trained, backend, {}, 4, 1).all()[2];
  double compute = 0, before_first = 0;
  int started = 0;
  for (action const& one : all) {
    if (one.what == action::kind::start) ++started;
    if (one.what != action::kind::compute) continue;
    compute += one.seconds;
    if (started == 0) before_first += one.seconds;
  }
  EXPECT_NEAR(compute, 1, 1e-12);
  EXPECT_GT(started, 1);
  EXPECT_GT(before_first, 1.0 / 3);  // forward, and backward of the last layers
  EXPECT_LT(before_first, 0.9);
}

TEST(recorded_schedules, refuse_unsupported_numbers_of_ranks) {
  simulated_strategy const sharing{.which = simulated_strategy::kind::sharing};
  EXPECT_THROW(recorded_schedules(trained, backend, sharing, 6, 1), cohort::setting_error);
  EXPECT_THROW(recorded_schedules(trained, backend, {}, 5000, 1), cohort::setting_error);
}

TEST(recorded_schedules, exclude_the_time_to_generate_received_messages) {
  auto const log = std::make_shared<recording>();
  std::vector<std::byte> const bytes(8);
  recorder world(0, 2, log, {.receive = [&](int, int) { return std::span(bytes); }});
  log->time([&] { world.wait_for_message(1, 0); });
  ASSERT_EQ(log->actions().size(), 2U);  // before and after the call
  for (action const& one : log->actions()) EXPECT_EQ(one.what, action::kind::codec);
}

}  // namespace
