// SPDX-License-Identifier: Apache-2.0
// optimizer/RULE/f32/n:ELEMENTS    each optimizer
//
// Each update is interleaved with a copy of the bytes that it must move. (lars and lamb compute norms in a
// separate pass.) bytes_per_second and copy_bytes_per_second are computed from medians; ratio, the main
// result, is their quotient.
#include "context.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cohort/execution/isa.hpp>
#include <cohort/optimizer/update_simd.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

using benchmarks::median;
using benchmarks::seconds;
using cohort::optimizer_rule;

struct page_aligned {
  void operator()(float* p) const { ::operator delete(p, std::align_val_t(4096)); }
};
using array = std::unique_ptr<float, page_aligned>;

array filled(std::size_t n, float value) {
  array a(static_cast<float*>(::operator new(n * sizeof(float), std::align_val_t(4096))));
  std::fill_n(a.get(), n, value);
  return a;
}

void update_beside_copy(benchmark::State& state, optimizer_rule const& rule, std::size_t n) {
  cohort::isa const which = cohort::best_isa();
  array const w = filled(n, 0.5F);
  array const g = filled(n, 1e-3F);
  std::vector<array> arrays;
  std::vector<float*> states;
  for (int k = 0; k < rule.state_arrays(); ++k) {
    arrays.push_back(filled(n, static_cast<float>(rule.initial_state(k))));
    states.push_back(arrays.back().get());
  }
  std::size_t const bytes = (3 + 2 * states.size()) * n * sizeof(float);
  array const from = filled(bytes / 2 / sizeof(float), 1);  // a copy reads one half and writes the other
  array const to = filled(bytes / 2 / sizeof(float), 2);
  float const* const parts[] = {g.get()};
  std::vector<double> update_times;
  std::vector<double> copy_times;
  std::int64_t step = 0;
  for ([[maybe_unused]] auto _ : state) {
    copy_times.push_back(seconds([&] {
      std::memcpy(to.get(), from.get(), bytes / 2);
      benchmark::ClobberMemory();
    }));
    // Only the second run counts, because the first run loads the arrays into the caches.
    for (int turn = 0; turn < 2; ++turn) {
      double const taken = seconds([&] {
        cohort::apply_update(
            which, rule,
            {.step = step++, .rate_factor = 1e-6, .l2 = 5e-4, .needed_norm = 1, .parameter_norm = 1}, w.get(),
            parts, 1, states.data(), n);
        benchmark::ClobberMemory();
      });
      if (turn == 1) {
        update_times.push_back(taken);
        state.SetIterationTime(taken);
      }
    }
    std::memcpy(to.get(), from.get(), bytes / 2);
    benchmark::ClobberMemory();
  }
  double const update_time = median(update_times);
  double const copy_time = median(copy_times);
  state.counters["bytes_per_second"] = static_cast<double>(bytes) / update_time;
  state.counters["copy_bytes_per_second"] = static_cast<double>(bytes) / copy_time;
  state.counters["ratio"] = copy_time / update_time;
  state.SetLabel(std::string(cohort::name_of(which)));
}

void declare(std::size_t n) {
  for (optimizer_rule const& rule : cohort::detail::default_rules)
    benchmark::RegisterBenchmark(
        ("optimizer/" + std::string(rule.name()) + "/f32/n:" + std::to_string(n)).c_str(),
        [rule, n](benchmark::State& state) { update_beside_copy(state, rule, n); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  declare(std::size_t{1} << 15);  // 128 KiB per array: all arrays fit an L2 cache
  declare(std::size_t{1} << 24);  // 64 MiB per array
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
