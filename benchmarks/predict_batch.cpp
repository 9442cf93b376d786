// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// Predicts one batch of noise repeatedly with one network, and prints the time of a call as JSON, one line
// per block:
//   predict_batch NET BATCH THREADS [SECONDS]
// The first line describes the program. With SECONDS, prints one block, and the time of each kernel on
// standard error. Otherwise prints one block for each line of standard input; the line contains the block's
// seconds. compare_inference.py runs this program; onnx_predict.py and pytorch_predict.py are its
// counterparts.
#include "arguments.hpp"
#include "context.hpp"
#include "networks.hpp"
#include "noise_batch.hpp"
#include "stopwatch.hpp"

#include <cohort/onednn.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace benchmarks;

void block(cohort::training const& model, cohort::tensor_view input, double wanted) {
  std::vector<double> times;
  float first = 0;
  for (double total = 0; total < wanted || times.size() < 3; total += times.back())
    times.push_back(seconds([&] { first = model.predict(input).values[0]; }));
  std::printf("{\"ms_per_call\": %.6f, \"p99_ms\": %.6f, \"calls\": %zu, \"first\": %.6f}\n",
              median(times) * 1e3, quantile(times, 0.99) * 1e3, times.size(), static_cast<double>(first));
  std::fflush(stdout);
}

/// Prints the time of each kernel of the plan.
void print_kernels(cohort::training& model, cohort::tensor_view input, int threads) {
  cohort::onednn::threads(threads);
  auto const store =
      std::make_shared<cohort::parameter_store<cohort::onednn>>(cohort::onednn{}, model.network());
  cohort::make_plan(store, model.network(), {.batch = 32});
  auto const plan = cohort::make_plan(store, model.network(), {.batch = input.dims[0], .training = false});
  auto const context = plan->make_context();
  store->initialise(123);
  store->refresh_stale();
  auto const repeat = [&] {
    std::vector<double> times;
    for (double total = 0; total < 1 || times.size() < 3; total += times.back())
      times.push_back(seconds([&] { context->forward(input); }));
    return median(times);
  };
  double const whole = repeat();
  context->profile(true);
  repeat();
  for (cohort::plan_row const& row : context->profile())
    std::fprintf(stderr, "%-48s %-24s %-10s %9.2f us %8.1f GFLOP/s\n", row.step.c_str(),
                 row.implementation.c_str(), row.layout.c_str(),
                 row.seconds / static_cast<double>(row.calls) * 1e6,
                 row.flops * static_cast<double>(row.calls) / row.seconds * 1e-9);
  std::fprintf(stderr, "forward alone %.2f us\n", whole * 1e6);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4 || argc > 5) {
    std::fprintf(stderr, "usage: predict_batch NET BATCH THREADS [SECONDS]\n");
    return 2;
  }
  auto const what = find_network(argv[1]);
  if (!what) {
    std::fprintf(stderr, "predict_batch: NET: expected lenet, mlp, cifar, darknet or resnet50, got %s\n",
                 argv[1]);
    return 2;
  }
  int const batch = whole_number(argv[2], "BATCH"), threads = whole_number(argv[3], "THREADS");
  cohort::training model = cohort::trainer<cohort::onednn>(cohort::graph(what->net), {.threads = threads});
  cohort::batch const data = noise_batch(what->net, batch);
  double warm = 0;
  for (int calls = 0; calls < 3 || (calls < 100 && warm < 1); ++calls)
    warm += seconds([&] { model.predict(data.input()); });
  dnnl_version_t const& onednn = *dnnl_version();
  std::printf("{\"name\": \"cohort\", \"commit\": \"%s\", \"compiler\": \"%s\", \"onednn\": \"%d.%d.%d\"}\n",
              commit().c_str(), compiler().c_str(), onednn.major, onednn.minor, onednn.patch);
  std::fflush(stdout);
  if (argc == 5) {
    block(model, data.input(), std::atof(argv[4]));
    print_kernels(model, data.input(), threads);
    return 0;
  }
  for (char line[64]; std::fgets(line, sizeof line, stdin);) block(model, data.input(), std::atof(line));
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
