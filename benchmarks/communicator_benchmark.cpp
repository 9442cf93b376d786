// SPDX-License-Identifier: Apache-2.0
// communicator/allreduce/threads/f32/ranks:P/bytes:N    an allreduce over threads
//
// The allreduce is interleaved with the bare work: the same sums and copies without messages (each thread
// adds the others' parts to its own part, then copies their results). The time is the median of one
// allreduce. bytes_per_second counts the array once. ratio is the time of the bare work divided by the time
// of the allreduce.
#include "context.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>

#include <cohort/communicator/launch.hpp>
#include <cohort/execution/flat_simd.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/execution/team.hpp>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using benchmarks::median;
using benchmarks::seconds;

constexpr int calls = 20;  // per timed block

/// The bare work of P threads: each sums its part of all arrays, then copies the others' parts.
struct bare_passes {
  bare_passes(int ranks, std::size_t n)
      : arrays(static_cast<std::size_t>(ranks), std::vector<float>(n)), crew(ranks) {}

  double block() {
    return seconds([&] { crew.run([&](int r) { passes(r); }); });
  }
  void passes(int rank) {
    auto const n = static_cast<std::int64_t>(arrays[0].size());
    int const ranks = crew.size();
    std::vector<float>& mine = arrays[static_cast<std::size_t>(rank)];
    for (int call = 0; call < calls; ++call) {
      cohort::index_slice const own = cohort::part_of({0, n}, rank, ranks);
      for (int k = 1; k < ranks; ++k) {
        float const* const parts[] = {arrays[static_cast<std::size_t>((rank + k) % ranks)].data() + own.first,
                                      mine.data() + own.first};
        cohort::sum_parts(which, mine.data() + own.first, parts, 2, static_cast<std::size_t>(own.count));
      }
      crew.barrier(rank);
      for (int k = 1; k < ranks; ++k) {
        int const other = (rank + k) % ranks;
        cohort::index_slice const part = cohort::part_of({0, n}, other, ranks);
        std::memcpy(mine.data() + part.first, arrays[static_cast<std::size_t>(other)].data() + part.first,
                    static_cast<std::size_t>(part.count) * sizeof(float));
      }
      crew.barrier(rank);
    }
  }

  cohort::isa which = cohort::best_isa();
  std::vector<std::vector<float>> arrays;
  cohort::team crew;
};

void allreduce_over_threads(benchmark::State& state, int ranks, std::size_t bytes) {
  std::vector<double> times;
  std::vector<double> bare_times;
  bare_passes bare(ranks, bytes / sizeof(float));
  cohort::launch<cohort::threads>(ranks, [&](cohort::communicator& world) {
    std::vector<float> data(bytes / sizeof(float));
    std::uint8_t again = 1;
    auto const block = [&] {
      world.broadcast(std::span(&again, 1), 0);
      if (again == 0) return 0.0;
      return seconds([&] {
        for (int call = 0; call < calls; ++call) world.allreduce(std::span(data));
      });
    };
    if (world.rank() > 0) {
      while (again != 0) block();
      return;
    }
    block();
    for ([[maybe_unused]] auto _ : state) {
      times.push_back(block() / calls);
      bare_times.push_back(bare.block() / calls);  // meanwhile the other ranks wait
      state.SetIterationTime(times.back());
    }
    again = 0;
    block();
  });
  state.counters["median_us"] = 1e6 * median(times);
  state.counters["bytes_per_second"] = static_cast<double>(bytes) / median(times);
  state.counters["ratio"] = median(bare_times) / median(times);
}

void declare(int ranks, std::size_t bytes) {
  benchmark::RegisterBenchmark(("communicator/allreduce/threads/f32/ranks:" + std::to_string(ranks)
                                + "/bytes:" + std::to_string(bytes))
                                   .c_str(),
                               [=](benchmark::State& state) { allreduce_over_threads(state, ranks, bytes); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (int const ranks : {1, 2}) {
    declare(ranks, 271'120);  // LeNet's parameters
    declare(ranks, std::size_t{4} << 20);
    declare(ranks, std::size_t{64} << 20);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
