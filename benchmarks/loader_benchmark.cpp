// SPDX-License-Identifier: Apache-2.0
// loader/u8_to_f32/batch:B/prefetch:D    batches of images, gathered in shuffled order and scaled
// scale/u8_to_f32                        the same conversion in memory order, without a loader: the upper
//                                        bound
// shuffle/n:N                            the shuffled order of an epoch
// bytes_per_second counts bytes read plus bytes written.
#include "context.hpp"

#include <benchmark/benchmark.h>

#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/order.hpp>
#include <cohort/data/transform.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace {

constexpr int examples = 1 << 15;  // 25 MB, larger than most L2 caches
constexpr int pixels = 28 * 28;
constexpr std::int64_t bytes_of_example = pixels * (sizeof(std::uint8_t) + sizeof(float));

std::vector<std::uint8_t> const& images() {
  static std::vector<std::uint8_t> const made = [] {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(examples) * pixels);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 251);
    return bytes;
  }();
  return made;
}

void load(benchmark::State& state, int batch, int prefetch) {
  std::vector<std::uint8_t> const labels(examples, 3);
  cohort::arrays const data(images(), {1, 28, 28}, labels, 10, 1 / 255.0);
  cohort::loader batches(data, {.batch = batch, .seed = 1, .prefetch = prefetch});
  std::int64_t epoch = 0;
  std::int64_t loaded = 0;
  batches.start(epoch);
  for ([[maybe_unused]] auto _ : state) {
    cohort::batch const* next = batches.next();
    if (!next) {
      batches.start(++epoch);
      next = batches.next();
    }
    benchmark::DoNotOptimize(next->input().data);
    loaded += next->count;
  }
  state.SetBytesProcessed(loaded * bytes_of_example);
  state.SetItemsProcessed(loaded);
}

void scale(benchmark::State& state) {
  constexpr std::size_t rows = 32;
  cohort::tensor_description const part{.name = "input",
                                        .example = {1, 28, 28},
                                        .stored = cohort::element_type::u8,
                                        .type = cohort::element_type::f32,
                                        .scale = 1 / 255.0};
  cohort::row_transform const run = cohort::transform_of(part);
  auto const* const from = reinterpret_cast<std::byte const*>(images().data());
  std::vector<float> to(rows * pixels);
  std::size_t row = 0;
  for ([[maybe_unused]] auto _ : state) {
    run(from + row * pixels, reinterpret_cast<std::byte*>(to.data() + row % rows * pixels), pixels,
        part.scale, part.offset);
    benchmark::ClobberMemory();
    row = (row + 1) % examples;
  }
  state.SetBytesProcessed(state.iterations() * bytes_of_example);
  state.SetItemsProcessed(state.iterations());
}

void shuffle(benchmark::State& state, std::int64_t n) {
  std::vector<std::int64_t> order;
  std::int64_t epoch = 0;
  for ([[maybe_unused]] auto _ : state) {
    cohort::epoch_order(order, 1, epoch++, n);
    benchmark::DoNotOptimize(order.data());
  }
  state.SetBytesProcessed(state.iterations() * n * static_cast<std::int64_t>(2 * sizeof(std::int64_t)));
  state.SetItemsProcessed(state.iterations() * n);
}

void declare() {
  for (int batch : {32, 256})
    for (int prefetch : {0, 2})
      benchmark::RegisterBenchmark(
          ("loader/u8_to_f32/batch:" + std::to_string(batch) + "/prefetch:" + std::to_string(prefetch))
              .c_str(),
          [=](benchmark::State& state) { load(state, batch, prefetch); })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("scale/u8_to_f32", scale)->Unit(benchmark::kMicrosecond);
  for (std::int64_t n : {60'000, 1'000'000})
    benchmark::RegisterBenchmark(("shuffle/n:" + std::to_string(n)).c_str(), [=](benchmark::State& state) {
      shuffle(state, n);
    })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  declare();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
