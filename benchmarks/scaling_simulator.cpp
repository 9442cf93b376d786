// SPDX-License-Identifier: Apache-2.0
// needs: onednn tcp
// Predicts the time of a training step on many ranks, from the messages of the real strategies:
//   scaling_simulator table [NETWORK...]
//   scaling_simulator predict NETWORK STRATEGY RANKS COMPUTE BANDWIDTH LATENCY [BURST [CODE]]
//   scaling_simulator live NETWORK STRATEGY COMPUTE STEPS
// table prints Markdown tables of 64 to 4,096 ranks. predict prints the seconds per step of one case. live
// runs STEPS steps over TCP with compute replaced by sleep, as one rank (cohort-run starts several), and
// prints the same.
// STRATEGY: allreduce, averaging[:PERIOD] or sharing[:DENSITY]. COMPUTE: seconds of forward and backward.
// BANDWIDTH: bytes/s of a host's interface. LATENCY: seconds. BURST: bytes that an interface transfers at
// once after a pause. CODE: factor of the time of encoding and decoding, for hosts that share processors.
#include <chrono>
#include <cohort/communicator/launch.hpp>
#include <cohort/tcp.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "arguments.hpp"
#include "backend_handles.hpp"
#include "networks.hpp"
#include "simulator/recorded_schedules.hpp"
#include "simulator/simulated_cluster.hpp"

namespace {

using namespace benchmarks;
using clock_type = std::chrono::steady_clock;

[[noreturn]] void fail(std::string const& why) {
  std::fprintf(stderr, "scaling_simulator: %s\n", why.c_str());
  std::exit(2);
}

trained_network network_of(std::string_view name) {
  if (auto const found = find_network(name)) return *found;
  fail("unknown network " + std::string(name));
}

/// allreduce, averaging[:PERIOD] or sharing[:DENSITY].
simulated_strategy strategy_of(std::string_view text) {
  using kind = simulated_strategy::kind;
  std::size_t const colon = text.find(':');
  std::string_view const name = text.substr(0, colon);
  std::string const setting(colon == text.npos ? "" : text.substr(colon + 1));
  if (name == "allreduce" && setting.empty()) return {.which = kind::allreduce};
  simulated_strategy made{.which = name == "averaging" ? kind::averaging : kind::sharing};
  if (name == "averaging") {
    if (!setting.empty()) made.every = whole_number(setting.c_str(), "PERIOD");
    return made;
  }
  if (name == "sharing") {
    if (!setting.empty()) made.density = real_number(setting.c_str(), "DENSITY");
    return made;
  }
  fail("expected the strategy allreduce, averaging[:PERIOD] or sharing[:DENSITY], got " + std::string(text));
}

/// Simulates at least `least` steps. Returns means per step.
simulated simulate(std::vector<schedule> const& schedules, int period, fabric const& how, speeds const& speed,
                   int least) {
  int const repeats = (least + period - 1) / period;
  simulated_cluster cluster(static_cast<int>(schedules.size()), how, speed);
  simulated all =
      cluster.run([&](int r) -> schedule const& { return schedules[static_cast<std::size_t>(r)]; }, repeats);
  for (double* const sum : {&all.seconds, &all.waiting_seconds, &all.bytes_sent, &all.messages_sent})
    *sum /= repeats * period;
  return all;
}

void predict(int argc, char** argv) {
  if (argc < 8 || argc > 10) fail("predict: expected 6 to 8 arguments");
  simulated_strategy const strategy = strategy_of(argv[3]);
  recorded_schedules all(network_of(argv[2]), make_backend_handle("onednn"), strategy,
                         whole_number(argv[4], "RANKS"), real_number(argv[5], "COMPUTE"));
  fabric const how{.latency = real_number(argv[7], "LATENCY"),
                   .bytes_per_second = real_number(argv[6], "BANDWIDTH"),
                   .burst_bytes = argc > 8 ? real_number(argv[8], "BURST") : 0};
  speeds const speed{.codec_factor = argc > 9 ? real_number(argv[9], "CODE") : 1};
  simulated const run = simulate(all.all(), strategy.period(), how, speed, 20);
  std::printf("%.6f s/step, %.0f bytes/step, %.1f messages/step\n", run.seconds, run.bytes_sent,
              run.messages_sent);
}

/// Makes at least `least` steps over TCP, whole periods. Compute is sleep.
void run_live(cohort::communicator& world, trained_network const& net, simulated_strategy const& strategy,
              double compute, int least) {
  clock_type::time_point last = clock_type::now();
  step_actions const sleeping{
      .compute =
          [&](double seconds) {
            last += std::chrono::ceil<clock_type::duration>(std::chrono::duration<double>(seconds));
            std::this_thread::sleep_until(last);
          },
      .call_hook =
          [&](auto const& hook) {
            hook();
            last = clock_type::now();
          }};
  strategy_driver driver(net, make_backend_handle("onednn"), static_cast<std::uint64_t>(world.rank()),
                         world.size(), strategy.on(world), compute, sleeping);
  int const steps = (least + strategy.period() - 1) / strategy.period() * strategy.period();
  std::int64_t step = 0;
  while (step < strategy.period()) driver.step(step++);
  world.barrier();
  auto const sent = world.sent();
  auto const begin = clock_type::now();
  for (int k = 0; k < steps; ++k) driver.step(step++);
  world.barrier();
  double const seconds = std::chrono::duration<double>(clock_type::now() - begin).count();
  double bytes = static_cast<double>(world.sent().bytes_sent - sent.bytes_sent) / world.size();
  world.allreduce(std::span(&bytes, 1));
  if (world.rank() == 0) std::printf("%.6f s/step, %.0f bytes/step\n", seconds / steps, bytes / steps);
}

int live(int argc, char** argv) {
  if (argc != 6) fail("live: expected 4 arguments");
  trained_network const net = network_of(argv[2]);
  simulated_strategy const strategy = strategy_of(argv[3]);
  double const compute = real_number(argv[4], "COMPUTE");
  int const count = whole_number(argv[5], "STEPS");
  return cohort::launch<cohort::tcp>(
      [&](cohort::communicator& world) { run_live(world, net, strategy, compute, count); });
}

struct named_fabric {
  char const* name;
  fabric how;
};
/// One rank per host, and switches that never block.
constexpr named_fabric fabrics[]{{"10 GbE",
                                  {.latency = 30e-6,
                                   .bytes_per_second = 1.18e9,
                                   .message_seconds = 4e-6,
                                   .processor_bytes_per_second = 8e9}},
                                 {"100 GbE",
                                  {.latency = 15e-6,
                                   .bytes_per_second = 11.8e9,
                                   .message_seconds = 4e-6,
                                   .processor_bytes_per_second = 8e9}},
                                 {"InfiniBand HDR",
                                  {.latency = 2e-6,
                                   .bytes_per_second = 24e9,
                                   .message_seconds = 5e-7,
                                   .processor_bytes_per_second = 16e9}}};

/// Compute of a step: three times the FLOPs of forward, on a processor that makes 30 TFLOP/s, and 5 ms more.
double compute_of(trained_network const& net, int batch) {
  double flops = 0;
  for (int id = 0; id < net.net.size(); ++id) flops += net.net.flops(id);
  return 5e-3 + 3 * flops * batch / 30e12;
}

void table(std::vector<std::string_view> networks) {
  constexpr int batch = 64;
  constexpr speeds varied{.jitter = 0.03};
  if (networks.empty()) networks = {"lenet", "mlp", "cifar", "darknet", "resnet50"};
  for (std::string_view const name : networks) {
    trained_network const net = network_of(name);
    double const compute = compute_of(net, batch);
    std::printf("\n%s: %.1f million parameters, compute %.1f ms\n\n", std::string(name).c_str(),
                1e-6 * static_cast<double>(net.net.parameter_count()), 1e3 * compute);
    std::printf("| strategy | ranks | kB per step | %s | %s | %s |\n|---|---|---|---|---|---|\n",
                fabrics[0].name, fabrics[1].name, fabrics[2].name);
    for (char const* const named : {"allreduce", "averaging", "sharing"})
      for (int const ranks : {64, 256, 1024, 4096}) {
        simulated_strategy const strategy = strategy_of(named);
        int const least = ranks < 1000 ? 20 : 5;
        std::vector<schedule> const all =
            recorded_schedules(net, make_backend_handle("onednn"), strategy, ranks, compute).all();
        std::string cells;
        double bytes = 0;
        for (named_fabric const& one : fabrics) {
          simulated const run = simulate(all, strategy.period(), one.how, varied, least);
          bytes = run.bytes_sent;
          char text[64];
          std::snprintf(text, sizeof text, " %.1f ms, %.0f %% |", 1e3 * run.seconds,
                        100 * compute / run.seconds);
          cells += text;
        }
        std::printf("| %s | %d | %.0f |%s\n", named, ranks, 1e-3 * bytes, cells.c_str());
        std::fflush(stdout);
      }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view const mode = argc > 1 ? argv[1] : "";
  if (mode == "live") return live(argc, argv);
  if (mode == "predict")
    predict(argc, argv);
  else if (mode == "table")
    table({argv + 2, argv + argc});
  else
    fail("expected table, predict or live; the source's first lines describe them");
  return 0;
} catch (std::exception const& problem) {
  std::fprintf(stderr, "scaling_simulator: %s\n", problem.what());
  return 1;
}
