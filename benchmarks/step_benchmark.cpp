// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// uses: cudnn
// step/NET/onednn/f32/batch:B/workers:W               the trainer's step: forward, backward, update
// step/NET/cudnn/f32/batch:B                          this step on a GPU, also in tf32 and bf16; skipped
//                                                     without a GPU
// forward_backward/NET/onednn/f32/batch:B             both passes, compared with the sum of the raw
//                                                     primitives, each timed separately
//
// `ratio`, the main result, is the quotient of the medians; ratio_low and ratio_high are its quartiles over
// the rounds. ratio_in_a_row compares with the same primitives run in sequence. If this ratio is lower than
// `ratio`, the difference is due to caches that are warm when a primitive is timed separately. Softmax with
// its loss is Cohort's own function and is part of both sides. Uses one thread. --primitives prints each
// primitive with its implementation and median time on stderr.
#include "context.hpp"
#include "networks.hpp"
#include "raw_primitives.hpp"
#include "repeated_step.hpp"
#include "stopwatch.hpp"

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <algorithm>
#include <cohort/onednn.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace benchmarks;
using cohort::onednn;

std::map<std::string_view, std::string> tables;  ///< of the primitives, by network; from the last trial

void step(benchmark::State& state, std::string_view backend, std::string_view name, int batch,
          int workers) try {
  trained_network const what = *find_network(name);
  repeated_step run(backend, what, batch,
                    {.optimizer = {.rule = what.rule, .l2 = what.l2}, .workers = workers});
  for (int warming = 0; warming < 20; ++warming) run();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(run());
  state.counters["samples_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * batch, benchmark::Counter::kIsRate);
} catch (cohort::backend_error const& why) {
  state.SkipWithError(why.what());
}

struct timed_part {
  std::string name;
  std::string implementation;
  std::function<void()> run;
  std::vector<double> times{};
};

/// Returns the number of involuntary context switches of this thread.
long interruptions() {
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

/// Returns the seconds of one call: the mean over about 0.2 ms of calls, after one warm-up call. Repeats the
/// measurement a few times if the thread was interrupted.
double per_call(std::function<void()> const& run) {
  constexpr double block_seconds = 2e-4;
  constexpr int max_calls = 100, max_attempts = 5;
  double mean = 0;
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    long const before = interruptions();
    double const first = seconds(run);
    int const calls = std::clamp(static_cast<int>(block_seconds / first), 1, max_calls);
    mean = seconds([&] {
             for (int call = 0; call < calls; ++call) run();
           })
           / calls;
    if (interruptions() == before) break;
  }
  return mean;
}

raw_chain raw_of(std::string_view name, int batch) {
  raw_chain chain(batch, {1, 28, 28});
  if (name == "lenet") {
    chain.conv2d(20, 5, 1);
    chain.max_pool(2);
    chain.rectifier(0);
    chain.conv2d(50, 5, 2);
    chain.max_pool(2);
    chain.rectifier(0);
    chain.dense(200, 0);
    chain.dense(10, -1);
  } else {
    chain.dense(500, 0.01F);
    chain.dense(100, 0.01F);
    chain.dense(10, -1);
  }
  return chain;
}

void forward_backward(benchmark::State& state, std::string_view name, int batch) {
  int const former = onednn::threads(1);
  cohort::graph_view const net = find_network(name)->net;
  auto const store = std::make_shared<cohort::parameter_store<onednn>>(onednn{}, net);
  auto const plan = cohort::make_plan(store, net, {.batch = batch});
  auto const context = plan->make_context();
  store->initialise(123);
  store->refresh_stale();
  cohort::batch const data = noise_batch(net, batch);
  auto const input = data.input();
  auto const target = data.target();
  std::function<void()> const whole = [&] {
    context->forward(input, target);
    context->backward({.gradient_scale = 1.0 / batch});
  };

  raw_chain const owner = raw_of(name, batch);
  std::vector<raw_primitive> const primitives = owner.primitives();
  std::vector<timed_part> parts;
  for (raw_primitive const& one : primitives)
    parts.push_back({one.name, one.implementation, [&one] { one(); }});
  constexpr int classes = 10;
  std::vector<float> const logits(static_cast<std::size_t>(batch * classes), 0.1F);
  std::vector<float> probabilities(logits.size());
  std::vector<float> gradient(logits.size());
  cohort::shape const logits_shape{classes};
  float const* const inputs[]{logits.data()};
  float* const diff_inputs[]{gradient.data()};
  cohort::step_scalars const scalars{.gradient_scale = 1.0 / batch};
  cohort::loss_sum loss;
  cohort::host_arguments<float> arguments;
  arguments.batch = batch;
  arguments.input_shapes = {&logits_shape, 1};
  arguments.output_shape = logits_shape;
  arguments.inputs = inputs;
  arguments.output = probabilities.data();
  arguments.scalars = &scalars;
  arguments.target = &target;
  arguments.loss = &loss;
  arguments.diff_inputs = diff_inputs;
  parts.push_back({"softmax and loss, both passes", "host:softmax_cross_entropy", [&] {
                     cohort::softmax_cross_entropy const layer;
                     layer.forward(arguments);
                     layer.backward(arguments);
                     benchmark::DoNotOptimize(loss.sum);
                     benchmark::ClobberMemory();
                   }});

  std::function<void()> const in_a_row = [&] {
    for (timed_part const& part : parts) part.run();
  };

  std::vector<double> times;
  std::vector<double> times_in_a_row;
  std::vector<double> ratios;
  for ([[maybe_unused]] auto _ : state) {
    times.push_back(per_call(whole));
    state.SetIterationTime(times.back());
    times_in_a_row.push_back(per_call(in_a_row));
    double sum = 0;
    for (timed_part& part : parts) {
      part.times.push_back(per_call(part.run));
      sum += part.times.back();
    }
    ratios.push_back(times.back() / sum);
  }
  double sum = 0;
  std::string& text = tables[name] = std::string(name) + ", primitives timed separately:\n";
  for (timed_part const& part : parts) {
    double const middle = median(part.times);
    sum += middle;
    char line[128];
    std::snprintf(line, sizeof line, "  %-32s %-28s %9.2f us\n", part.name.c_str(),
                  part.implementation.c_str(), middle * 1e6);
    text += line;
  }
  state.counters["primitives_us"] = sum * 1e6;
  state.counters["median_us"] = median(times) * 1e6;
  state.counters["in_a_row_us"] = median(times_in_a_row) * 1e6;
  state.counters["ratio"] = median(times) / sum;
  state.counters["ratio_in_a_row"] = median(times) / median(times_in_a_row);
  state.counters["ratio_low"] = quantile(ratios, 0.25);
  state.counters["ratio_high"] = quantile(ratios, 0.75);
  onednn::threads(former);
}

void declare_step(std::string const& library, std::string const& type, std::string const& net, int batch,
                  int workers, std::string const& more) {
  std::string const backend = type == "f32" ? library : library + '_' + type;
  benchmark::RegisterBenchmark(
      ("step/" + net + '/' + library + '/' + type + "/batch:" + std::to_string(batch) + more).c_str(),
      [=](benchmark::State& state) { step(state, backend, net, batch, workers); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void declare(std::string const& net, int batch) {
  std::string const what = "/" + net + "/onednn/f32/batch:" + std::to_string(batch);
  for (int workers : {1, 2})
    declare_step("onednn", "f32", net, batch, workers, "/workers:" + std::to_string(workers));
#if __has_include(<cohort/cudnn.hpp>)
  for (char const* const type : {"f32", "tf32", "bf16"}) declare_step("cudnn", type, net, batch, 1, "");
#endif
  benchmark::RegisterBenchmark(("forward_backward" + what).c_str(),
                               [=](benchmark::State& state) { forward_backward(state, net, batch); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  bool prints_primitives = false;
  for (int at = 1; at < argc; ++at)
    if (std::string_view(argv[at]) == "--primitives") {
      prints_primitives = true;
      std::copy(argv + at + 1, argv + argc, argv + at);
      --argc;
      break;
    }
  declare("lenet", 32);
  declare("mlp", 32);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_build_context();
  dnnl_version_t const& version = *dnnl_version();
  benchmark::AddCustomContext("onednn", std::to_string(version.major) + '.' + std::to_string(version.minor)
                                            + '.' + std::to_string(version.patch));
  benchmark::RunSpecifiedBenchmarks();
  if (prints_primitives)
    for (auto const& [name, text] : tables) std::fputs(text.c_str(), stderr);
}
