// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// predict/NET/onednn/f32/batch:B/threads:T    one caller predicts a batch in memory
// serve/NET/…/callers:C/batched:0 and 1       callers predict one example at a time, directly or through the
//                                             dynamic batcher
#include "context.hpp"
#include "networks.hpp"
#include "noise_batch.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>
#include <cohort/onednn.hpp>
#include <cohort/prediction/dynamic_batcher.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace benchmarks;

cohort::training model_of(trained_network const& what, int threads) {
  return cohort::trainer<cohort::onednn>(cohort::graph(what.net), {.threads = threads});
}

void predict(benchmark::State& state, trained_network const& what, int batch, int threads) {
  cohort::training const model = model_of(what, threads);
  cohort::batch const data = noise_batch(what.net, batch);
  model.predict(data.input());
  std::vector<double> times;
  for ([[maybe_unused]] auto _ : state) times.push_back(seconds([&] { model.predict(data.input()); }));
  state.counters["median_us"] = median(times) * 1e6;
  state.counters["p99_us"] = quantile(times, 0.99) * 1e6;
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * batch);
}

void serve(benchmark::State& state, trained_network const& what, int callers, bool batched) {
  constexpr int calls = 200;
  cohort::training const model = model_of(what, 1);
  cohort::batch const data = noise_batch(what.net, 1);
  model.predict(data.input());
  cohort::dynamic_batcher batcher(
      model, {.max_batch = callers, .max_delay = std::chrono::microseconds(200), .runs = 2});
  std::vector<double> times;
  std::mutex mutex;
  for ([[maybe_unused]] auto _ : state) {
    std::vector<std::thread> threads;
    for (int c = 0; c < callers; ++c)
      threads.emplace_back([&] {
        std::vector<double> mine;
        for (int call = 0; call < calls; ++call)
          mine.push_back(seconds([&] {
            if (batched)
              batcher.predict(data.input());
            else
              model.predict(data.input());
          }));
        std::lock_guard const lock(mutex);
        times.insert(times.end(), mine.begin(), mine.end());
      });
    for (std::thread& one : threads) one.join();
  }
  state.counters["median_us"] = median(times) * 1e6;
  state.counters["p99_us"] = quantile(times, 0.99) * 1e6;
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * callers * calls);
}

}  // namespace

int main(int argc, char** argv) {
  for (char const* const name : {"lenet", "mlp", "darknet"}) {
    trained_network const what = *find_network(name);
    for (int const batch : {1, 32})
      for (int const threads : {1, 2})
        benchmark::RegisterBenchmark(("predict/" + std::string(name) + "/onednn/f32/batch:"
                                      + std::to_string(batch) + "/threads:" + std::to_string(threads))
                                         .c_str(),
                                     predict, what, batch, threads)
            ->UseRealTime();
  }
  for (char const* const name : {"lenet", "mlp"})
    for (int const callers : {1, 8, 32})
      for (bool const batched : {false, true})
        benchmark::RegisterBenchmark(("serve/" + std::string(name) + "/onednn/f32/callers:"
                                      + std::to_string(callers) + "/batched:" + (batched ? "1" : "0"))
                                         .c_str(),
                                     serve, *find_network(name), callers, batched)
            ->UseRealTime();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
