// SPDX-License-Identifier: Apache-2.0
// needs: monitoring onednn
// monitoring/lenet/onednn/f32/batch:32/workers:1/LISTENER    an epoch with a listener, compared with one
//                                                            without
//
// LISTENER: `progress` (bar and lines, which are not printed), `tensorboard`, `html_report`, or `all` three,
// with their default periods. One training runs all epochs of 1,000 steps, alternately with and without the
// listener. Files are written to a new temporary folder. `own_us` is the mean time of the listener's calls
// per step. `ratio` is the quotient of the median times of an epoch; ratio_low and ratio_high are the
// quartiles of the ratio over the pairs.
#include "context.hpp"
#include "networks.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>
#include <cohort/data/digits.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/trainer.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace benchmarks;

constexpr int steps = 1000;
constexpr int batch = 32;

/// Measures the time of a listener's own calls.
class timed final : public cohort::listener {
 public:
  explicit timed(cohort::listener& inner) : inner_(inner) {}
  void on_step(cohort::training& run, cohort::step_report const& done) override {
    seconds_ += seconds([&] { inner_.on_step(run, done); });
  }
  void on_epoch(cohort::training& run, cohort::epoch_report const& done) override {
    seconds_ += seconds([&] { inner_.on_epoch(run, done); });
  }
  void on_end(cohort::training& run) override {
    seconds_ += seconds([&] { inner_.on_end(run); });
  }
  double total() const { return seconds_; }

 private:
  cohort::listener& inner_;
  double seconds_ = 0;
};

std::vector<cohort::listener*> selected(std::string_view which, cohort::listener& progress,
                                        cohort::listener& board, cohort::listener& report) {
  if (which == "progress") return {&progress};
  if (which == "tensorboard") return {&board};
  if (which == "html_report") return {&report};
  return {&progress, &board, &report};
}

void beside_none(benchmark::State& state, std::string_view which) {
  trained_network const what = *find_network("lenet");
  cohort::arrays const data = cohort::synthetic_digits(steps * batch, 1);
  std::filesystem::path const folder =
      std::filesystem::temp_directory_path() / ("cohort_monitoring_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  cohort::progress_listener progress({.lines = cohort::silent_sink(), .bar = cohort::silent_sink()});
  cohort::tensorboard_listener board(folder / "board");
  cohort::html_report_listener report(folder / "run.html");
  timed timed_progress(progress), timed_board(board), timed_report(report);
  std::vector<cohort::listener*> const listeners = selected(which, timed_progress, timed_board, timed_report);
  cohort::training run = cohort::trainer<cohort::onednn>(
      cohort::graph(what.net), {.optimizer = {.rule = what.rule, .l2 = what.l2}, .workers = 1});
  auto const without = [&] { run.fit(data, {.batch = batch}); };
  auto const with = [&] { run.fit(data, {.batch = batch, .listeners = listeners}); };
  without(), with();
  std::vector<double> plain_times, times, ratios;
  for ([[maybe_unused]] auto _ : state) {
    plain_times.push_back(seconds(without));
    times.push_back(seconds(with));
    ratios.push_back(times.back() / plain_times.back());
    state.SetIterationTime(times.back());
  }
  std::filesystem::remove_all(folder);
  state.counters["us_without"] = 1e6 * median(plain_times) / steps;
  state.counters["us"] = 1e6 * median(times) / steps;
  double const own = timed_progress.total() + timed_board.total() + timed_report.total();
  state.counters["own_us"] = 1e6 * own / (static_cast<double>(times.size() + 1) * steps);
  state.counters["ratio"] = median(times) / median(plain_times);
  state.counters["ratio_low"] = quantile(ratios, 0.25);
  state.counters["ratio_high"] = quantile(ratios, 0.75);
}

}  // namespace

int main(int argc, char** argv) {
  for (std::string const which : {"progress", "tensorboard", "html_report", "all"})
    benchmark::RegisterBenchmark(
        ("monitoring/lenet/onednn/f32/batch:" + std::to_string(batch) + "/workers:1/" + which).c_str(),
        [which](benchmark::State& state) { beside_none(state, which); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmarks::add_build_context();
  benchmark::RunSpecifiedBenchmarks();
}
