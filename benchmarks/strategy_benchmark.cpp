// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// strategy/NET/onednn/f32/batch:B/workers:W/STRATEGY/self    a step of one rank with a strategy, compared
//                                                            with one without
//
// The ratio is the cost of a strategy without communication: buckets, copies and waits; for sharing also
// encoding and decoding a message. Steps with and without the strategy alternate. Times are means over five
// steps; in one of the five, averaging exchanges parameters. `ratio` is the quotient of the medians;
// ratio_low and ratio_high are its quartiles over the pairs.
#include "context.hpp"
#include "repeated_step.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>

#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace benchmarks;

constexpr int period = 5;  // steps between two averages

template <class Strategy>
void beside_none(benchmark::State& state, std::string const& name, int batch, int workers, Strategy how) {
  auto const world = cohort::make_self();
  repeated_step plain(*find_network(name), batch, workers);
  repeated_step exchanging(*find_network(name), batch, workers, how.on(*world));
  std::vector<double> plain_times, times, ratios;
  for (int warming = 0; warming < period; ++warming) plain(), exchanging();
  for ([[maybe_unused]] auto _ : state) {
    double without = 0, with = 0;
    for (int step = 0; step < period; ++step) {
      without += seconds([&] { plain(); });
      with += seconds([&] { exchanging(); });
    }
    plain_times.push_back(without / period);
    times.push_back(with / period);
    ratios.push_back(with / without);
    state.SetIterationTime(with);
  }
  state.counters["ms_without"] = 1e3 * median(plain_times);
  state.counters["ms"] = 1e3 * median(times);
  state.counters["ratio"] = median(times) / median(plain_times);
  state.counters["ratio_low"] = quantile(ratios, 0.25);
  state.counters["ratio_high"] = quantile(ratios, 0.75);
}

template <class Strategy>
void declare(std::string const& net, int batch, int workers, std::string const& strategy, Strategy how) {
  std::string const name = "strategy/" + net + "/onednn/f32/batch:" + std::to_string(batch)
                           + "/workers:" + std::to_string(workers) + "/" + strategy + "/self";
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { beside_none(state, net, batch, workers, how); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (int const workers : {1, 2}) {
    declare("cifar", 64, workers, "allreduce", cohort::allreduce{});
    declare("cifar", 64, workers, "averaging", cohort::parameter_averaging{.every = period});
    declare("cifar", 64, workers, "sharing", cohort::threshold_sharing{});
    declare("darknet", 32, workers, "averaging", cohort::parameter_averaging{.every = period});  // has norms
    declare("lenet", 32, workers, "allreduce", cohort::allreduce{});
    declare("lenet", 32, workers, "averaging", cohort::parameter_averaging{.every = period});
    declare("lenet", 32, workers, "sharing", cohort::threshold_sharing{});
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
