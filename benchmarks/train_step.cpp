// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// uses: cudnn
// Trains one network repeatedly on one batch of noise, and prints the time of a step as JSON, one line per
// block:
//   train_step [--device cpu|cuda] [--recompute] [--tune] NET DTYPE BATCH WORKERS THREADS [SECONDS]
// The first line describes the program. With SECONDS, prints one block. Otherwise prints one block for each
// line of standard input; the line contains the block's seconds. --tune selects the fastest implementations
// on this machine (cohort/training/tune.hpp). compare_pytorch.py runs this program; pytorch_step.py is its
// counterpart.
#include "arguments.hpp"
#include "context.hpp"
#include "networks.hpp"
#include "process_memory.hpp"
#include "repeated_step.hpp"
#include "stopwatch.hpp"

#include <cohort/onednn.hpp>
#include <cohort/plan/plan_text.hpp>
#if __has_include(<cohort/cudnn/detail/gpu.hpp>)
#include <cohort/cudnn/detail/gpu.hpp>
#endif
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace benchmarks;

/// The device that runs the steps.
struct device {
  std::string name;
  std::function<long long()> memory;  ///< bytes: the maximum so far; on a GPU, those in use
};

device this_machine() {
  forget_memory_peak();
  return {"cpu", [before = memory_bytes("VmRSS")] { return memory_bytes("VmHWM") - before; }};
}

device first_gpu() {
#if __has_include(<cohort/cudnn/detail/gpu.hpp>)
  auto const on = std::make_shared<cohort::detail::gpu const>();
  auto const taken = [on] {
    on->use();
    std::size_t free = 0, total = 0;
    on->driver().check(on->driver().memory(&free, &total), "reading a GPU's free memory");
    return static_cast<long long>(total - free);
  };
  return {on->name(), [taken, before = taken()] { return taken() - before; }};
#else
  throw cohort::setting_error({.what = "--device cuda: this program was built without the component cudnn"});
#endif
}

void block(repeated_step& step, double wanted, device const& on) {
  std::vector<double> times;
  double loss = 0;
  for (double total = 0; total < wanted || times.size() < 3; total += times.back())
    times.push_back(seconds([&] { loss = step(); }));
  std::printf(
      "{\"ms_per_step\": %.6f, \"steps\": %zu, \"loss\": %.6f, \"memory_bytes\": %lld, \"forecast_bytes\": "
      "%zu}\n",
      median(times) * 1e3, times.size(), loss, on.memory(), step.forecast().total());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  bool recomputes = false, tunes = false, on_a_gpu = false;
  for (; argc > 1 && argv[1][0] == '-'; --argc, ++argv) {
    std::string const flag = argv[1];
    if (flag == "--device" && argc > 2) {
      std::string const which = argv[2];
      if (which != "cpu" && which != "cuda") {
        std::fprintf(stderr, "train_step: --device: expected cpu or cuda, got %s\n", argv[2]);
        return 2;
      }
      on_a_gpu = which == "cuda";
      --argc, ++argv;
    } else if (flag == "--recompute") {
      recomputes = true;
    } else if (flag == "--tune") {
      tunes = true;
    } else {
      std::fprintf(stderr, "train_step: expected --device cpu|cuda, --recompute or --tune, got %s\n",
                   argv[1]);
      return 2;
    }
  }
  if (argc < 6 || argc > 7) {
    std::fprintf(
        stderr,
        "usage: train_step [--device cpu|cuda] [--recompute] [--tune] NET DTYPE BATCH WORKERS THREADS "
        "[SECONDS]\n");
    return 2;
  }
  auto const what = find_network(argv[1]);
  if (!what) {
    std::fprintf(stderr,
                 "train_step: NET: expected lenet, mlp, cifar, darknet, resnet50, uci, char_lstm, char_gru, "
                 "gpt_small, gpt_baby or gpt2_124m, got %s\n",
                 argv[1]);
    return 2;
  }
  std::string const type = argv[2];
  if (type != "f32" && type != "bf16" && !(on_a_gpu && type == "tf32")) {
    std::fprintf(stderr, "train_step: DTYPE: expected f32, bf16 or on a GPU tf32, got %s\n", argv[2]);
    return 2;
  }
  int const batch = whole_number(argv[3], "BATCH");
  cohort::training_settings settings{.optimizer = {.rule = what->rule, .l2 = what->l2},
                                     .workers = whole_number(argv[4], "WORKERS"),
                                     .threads = whole_number(argv[5], "THREADS"),
                                     .recompute = {.cheap = recomputes}};
  if (tunes) settings.tune = autotuner_of_any(batch);
  device on = on_a_gpu ? first_gpu() : this_machine();
  std::string const library = on_a_gpu ? "cudnn" : "onednn";
  repeated_step step(type == "f32" ? library : library + '_' + type, *what, batch, settings);
  double first = seconds([&] { step(); }), warm = first;
  for (int steps = 1; steps < 3 || (steps < 20 && warm < 3); ++steps) warm += seconds([&] { step(); });
  if (on_a_gpu) on.memory = [held = on.memory()] { return held; };  // before other processes allocate memory
  dnnl_version_t const& onednn = *dnnl_version();
  std::printf(
      "{\"name\": \"cohort\", \"device\": \"%s\", \"commit\": \"%s\", \"compiler\": \"%s\", \"onednn\": "
      "\"%d.%d.%d\", "
      "\"first_step_ms\": %.3f, \"recomputation\": \"%s\"}\n",
      on.name.c_str(), commit().c_str(), compiler().c_str(), onednn.major, onednn.minor, onednn.patch,
      first * 1e3, cohort::text_of(step.recomputed()).c_str());
  std::fflush(stdout);
  if (argc == 7) {
    block(step, std::atof(argv[6]), on);
    return 0;
  }
  for (char line[64]; std::fgets(line, sizeof line, stdin);) block(step, std::atof(line), on);
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
