// SPDX-License-Identifier: Apache-2.0
// Measures the time that checkpoints cost the training thread:
//   checkpoint_benchmark [WIDTH [CHECKPOINTS [FOLDER]]]
// Trains 10 dense layers of WIDTH units with Adam on the reference backend. Compares each checkpoint with a
// memcpy of as many bytes, in blocks of the same sizes, before and after it. Times are processor times of the
// training thread. Prints the medians, and the wall time of save_checkpoint.
#include <time.h>

#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "stopwatch.hpp"

namespace {

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Calls a checkpoint_listener, and measures its calls.
struct measured final : cohort::listener {
  cohort::checkpoint_listener& counted;
  std::vector<cohort::buffer> copies{};
  std::vector<double> checkpoint{}, memcpys{}, ratios{};
  explicit measured(cohort::checkpoint_listener& of) : counted(of) {}

  double copy(cohort::training& run) {
    cohort::detail::training_state& state = run.state();
    std::size_t const bytes = state.parameters().arena_bytes();
    std::vector<std::byte const*> arenas{state.parameters().master()};
    for (int k = 0; k < state.update().state_arrays(); ++k) arenas.push_back(state.update().state(k));
    while (copies.size() < arenas.size()) copies.emplace_back(bytes);
    double const begin = thread_seconds();
    for (std::size_t k = 0; k < arenas.size(); ++k) std::memcpy(copies[k].data(), arenas[k], bytes);
    return thread_seconds() - begin;
  }
  void on_step(cohort::training& run, cohort::step_report const& done) override {
    if ((done.step + 1) % 2 != 0) return counted.on_step(run, done);
    run.state().checkpoints.wait(cohort::detail::writing_limit(run.world()));
    double const before = copy(run);
    double const begin = thread_seconds();
    counted.on_step(run, done);
    checkpoint.push_back(thread_seconds() - begin);
    memcpys.push_back((before + copy(run)) / 2);
    ratios.push_back(checkpoint.back() / memcpys.back());
  }
  void on_end(cohort::training& run) override { counted.on_end(run); }
};

}  // namespace

int main(int argc, char** argv) {
  using namespace cohort;
  int const width = argc > 1 ? std::atoi(argv[1]) : 1300, checkpoints = argc > 2 ? std::atoi(argv[2]) : 12;
  std::string const folder = argc > 3 ? argv[3] : "checkpoint_benchmark.checkpoints";
  graph const net = graph::build([&](builder& layers) {
    auto top = layers.input({width});
    for (int k = 0; k < 10; ++k) top = top | dense{.units = width} | relu{};
    return top | dense{.units = 2} | softmax_cross_entropy{};
  });
  std::vector<float> const values(static_cast<std::size_t>(2 * checkpoints * width), 0.5F);
  std::vector<std::int32_t> const labels(static_cast<std::size_t>(2 * checkpoints), 1);
  dataset const data =
      arrays(std::span<float const>(values), shape{width}, std::span<std::int32_t const>(labels), 2);
  training run = trainer<reference<float>>(net, {.optimizer = {.rule = adam{}}});
  checkpoint_listener saving(folder, 2, 1);
  measured counter(saving);
  run.fit(data, {.batch = 1, .listeners = {&counter}});
  double const foreground = benchmarks::seconds([&] { save_checkpoint(run, folder, 1); });
  std::filesystem::remove_all(folder);
  if (saving.failures() > 0) return 1;
  std::printf("%.1f MB of parameters and state, %zu checkpoints\n",
              3e-6 * static_cast<double>(run.parameters().arena_bytes()), counter.ratios.size());
  std::printf("memcpy %.2f ms, checkpoint %.2f ms, ratio %.3f (first %.3f, largest later one %.3f)\n",
              1e3 * benchmarks::median(counter.memcpys), 1e3 * benchmarks::median(counter.checkpoint),
              benchmarks::median(counter.ratios), counter.ratios[0],
              *std::max_element(counter.ratios.begin() + 1, counter.ratios.end()));
  std::printf("save_checkpoint %.0f ms\n", 1e3 * foreground);
}
