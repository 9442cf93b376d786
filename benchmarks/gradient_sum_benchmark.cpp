// SPDX-License-Identifier: Apache-2.0
// gradient_sum/f32/n:ELEMENTS/workers:W    sums and clears the workers' gradients (gradient_parts::sum)
//
// The sum is interleaved with a copy of the bytes that it moves. ratio, the main result, is the median time
// of the copy divided by the median time of the sum.
#include "context.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using benchmarks::median;
using benchmarks::seconds;

void sum_beside_copy(benchmark::State& state, int units, int workers) {
  cohort::graph const net = cohort::graph::build([&](cohort::builder& made) {
    using namespace cohort;
    made.input({1, 1, units}) | dense{.units = units, .bias = false} | dense{.units = 2}
        | softmax_cross_entropy{};
  });
  using store = cohort::parameter_store<cohort::reference<float>>;
  auto const made = std::make_shared<store>(cohort::reference<float>(), net.view());
  auto const plan = cohort::make_plan(made, net.view(), {.batch = 1});  // fixes the parameters' layouts
  store const& parameters = *made;
  std::size_t const bytes = parameters.arena_bytes();
  std::vector<cohort::buffer> arenas;
  std::vector<std::byte*> parts;
  for (int w = 0; w < workers; ++w) parts.push_back(arenas.emplace_back(bytes).data());
  cohort::gradient_parts gradients(parameters, parts);
  std::size_t const half = bytes * static_cast<std::size_t>(workers);  // bytes read; as many are written
  cohort::buffer const from(half), to(half);
  std::vector<double> sum_times, copy_times;
  for ([[maybe_unused]] auto _ : state) {
    copy_times.push_back(seconds([&] {
      std::memcpy(to.data(), from.data(), half);
      benchmark::ClobberMemory();
    }));
    // Only the second run counts, because the first run loads the arrays into the caches.
    for (int turn = 0; turn < 2; ++turn) {
      double const taken = seconds([&] {
        for (cohort::bucket const& one : parameters.buckets()) gradients.sum(one);
        benchmark::ClobberMemory();
      });
      if (turn == 1) {
        sum_times.push_back(taken);
        state.SetIterationTime(taken);
      }
    }
    std::memcpy(to.data(), from.data(), half);
    benchmark::ClobberMemory();
  }
  state.counters["bytes_per_second"] = 2 * static_cast<double>(half) / median(sum_times);
  state.counters["ratio"] = median(copy_times) / median(sum_times);
}

}  // namespace

int main(int argc, char** argv) {
  for (int const units : {256, 4096})
    for (int const workers : {2, 4}) {
      std::string const name =
          "gradient_sum/f32/n:" + std::to_string(units * units) + "/workers:" + std::to_string(workers);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { sum_beside_copy(state, units, workers); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
