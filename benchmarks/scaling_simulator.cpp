// SPDX-License-Identifier: Apache-2.0
// needs: onednn tcp
// Predicts the time of a training step on many ranks, from the messages of the real strategies:
//   scaling_simulator table [NETWORK...] [FLAGS]
//   scaling_simulator predict NETWORK STRATEGY RANKS COMPUTE BANDWIDTH LATENCY [FLAGS]
//   scaling_simulator live NETWORK STRATEGY COMPUTE STEPS
// `table` prints Markdown tables of 64 to 4,096 ranks. `predict` prints the seconds per step of one case.
// `live` is one rank over TCP (`cohort run` starts several): it runs STEPS steps, in which it sleeps instead
// of computing, and also prints the seconds per step.
// STRATEGY: allreduce, averaging[:PERIOD] or sharing[:DENSITY]. COMPUTE: seconds of forward and backward.
// BANDWIDTH: bytes/s of a host's interface. LATENCY: seconds.
// FLAGS: see docs/scaling.md.
#include <algorithm>
#include <chrono>
#include <cohort/communicator/launch.hpp>
#include <cohort/tcp.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
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

/// Parses a strategy: allreduce, averaging[:PERIOD] or sharing[:DENSITY].
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

/// Settings of the fabric and of the ranks' speed that flags can change.
struct simulated_machine {
  fabric how;
  speeds speed;
};

/// Applies the arguments [first, argc), pairs of a flag and its value.
void apply_flags(simulated_machine& to, int argc, char** argv, int first) {
  struct number_flag {
    char const* name;
    double* value;
  };
  number_flag const numbers[]{{"--message-seconds", &to.how.message_seconds},
                              {"--copy-rate", &to.how.processor_bytes_per_second},
                              {"--burst", &to.how.burst_bytes},
                              {"--local-latency", &to.how.local_latency},
                              {"--local-bandwidth", &to.how.local_bytes_per_second},
                              {"--oversubscription", &to.how.oversubscription},
                              {"--jitter", &to.speed.jitter},
                              {"--slow-factor", &to.speed.slow_factor},
                              {"--codec-factor", &to.speed.codec_factor}};
  struct count_flag {
    char const* name;
    int* value;
  };
  count_flag const counts[]{{"--ranks-per-host", &to.how.ranks_per_host},
                            {"--hosts-per-rack", &to.how.hosts_per_rack}};
  for (int at = first; at < argc; at += 2) {
    auto const is_it = [&](auto const& flag) { return std::strcmp(flag.name, argv[at]) == 0; };
    auto const* const number = std::find_if(std::begin(numbers), std::end(numbers), is_it);
    auto const* const count = std::find_if(std::begin(counts), std::end(counts), is_it);
    bool const is_number = number != std::end(numbers);
    if (!is_number && count == std::end(counts)) {
      std::string known;
      for (number_flag const& one : numbers) known += std::string(" ") + one.name;
      for (count_flag const& one : counts) known += std::string(" ") + one.name;
      fail("unknown flag " + std::string(argv[at]) + "; the flags are" + known);
    }
    if (at + 1 == argc) fail("expected a value after " + std::string(argv[at]));
    if (is_number)
      *number->value = real_number(argv[at + 1], argv[at]);
    else
      *count->value = whole_number(argv[at + 1], argv[at]);
  }
  if (to.how.oversubscription != 1 && to.how.hosts_per_rack == 0)
    fail("--oversubscription is that of the racks' uplinks: set --hosts-per-rack, too");
  if (to.speed.slow_factor != 1) to.speed.slow_rank = 0;
}

void predict(int argc, char** argv) {
  if (argc < 8) fail("predict: expected 6 arguments and flags");
  simulated_strategy const strategy = strategy_of(argv[3]);
  recorded_schedules all(network_of(argv[2]), make_backend_handle("onednn"), strategy,
                         whole_number(argv[4], "RANKS"), real_number(argv[5], "COMPUTE"));
  simulated_machine on{.how = {.latency = real_number(argv[7], "LATENCY"),
                               .bytes_per_second = real_number(argv[6], "BANDWIDTH")},
                       .speed = {}};
  apply_flags(on, argc, argv, 8);
  simulated const run = simulate(all.all(), strategy.period(), on.how, on.speed, 20);
  std::printf("%.6f s/step, %.0f bytes/step, %.1f messages/step\n", run.seconds, run.bytes_sent,
              run.messages_sent);
}

/// Runs at least `least` steps over TCP, rounded up to whole periods. Sleeps instead of computing.
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
/// One rank per host, and non-blocking switches.
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

/// Compute time of a step: three times the FLOPs of forward, on a processor of 30 TFLOP/s, plus 5 ms.
double compute_of(trained_network const& net, int batch) {
  double flops = 0;
  for (int id = 0; id < net.net.size(); ++id) flops += net.net.flops(id);
  return 5e-3 + 3 * flops * batch / 30e12;
}

void table(int argc, char** argv) {
  constexpr int batch = 64;
  std::vector<std::string_view> networks;
  int at = 2;
  while (at < argc && std::strncmp(argv[at], "--", 2) != 0) networks.emplace_back(argv[at++]);
  std::vector<simulated_machine> machines;
  for (named_fabric const& one : fabrics) {
    simulated_machine& on = machines.emplace_back(one.how, speeds{.jitter = 0.03});
    apply_flags(on, argc, argv, at);
  }
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
        // Large networks on many ranks have millions of messages per step.
        bool const is_large = net.net.parameter_count() > 10'000'000;
        int const least = ranks < 1000 && !is_large ? 20 : ranks < 4096 || !is_large ? 5 : 3;
        std::vector<schedule> const all =
            recorded_schedules(net, make_backend_handle("onednn"), strategy, ranks, compute).all();
        std::string cells;
        double bytes = 0;
        for (simulated_machine const& on : machines) {
          simulated const run = simulate(all, strategy.period(), on.how, on.speed, least);
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
    table(argc, argv);
  else
    fail("expected table, predict or live; the source's first lines describe them");
  return 0;
} catch (std::exception const& problem) {
  std::fprintf(stderr, "scaling_simulator: %s\n", problem.what());
  return 1;
}
