// SPDX-License-Identifier: Apache-2.0
// needs: onednn text
// Generates tokens with a transformer and prints tokens per second as JSON:
//   generate_tokens NET THREADS CACHE [COUNT] [ROUNDS]
// The counterpart of pytorch_generate.py, which explains the arguments.
#include "arguments.hpp"
#include "networks.hpp"
#include "stopwatch.hpp"

#include <cohort/onednn.hpp>
#include <cohort/text/generate_tokens.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  using namespace benchmarks;
  if (argc < 4 || argc > 6) {
    std::fprintf(stderr, "usage: generate_tokens NET THREADS CACHE [COUNT] [ROUNDS]\n");
    return 2;
  }
  auto const what = find_network(argv[1]);
  if (!what) {
    std::fprintf(stderr, "generate_tokens: NET: expected gpt_small, gpt_baby or gpt2_124m, got %s\n",
                 argv[1]);
    return 2;
  }
  int const threads = whole_number(argv[2], "THREADS");
  bool const cached = std::string(argv[3]) == "yes";
  int const window = what->net[what->net.with_role(cohort::layer_role::input)[0]].output[0];
  int const count = argc > 4 ? whole_number(argv[4], "COUNT") : window - 1;
  int const rounds = argc > 5 ? whole_number(argv[5], "ROUNDS") : 5;
  cohort::training const net =
      cohort::trainer<cohort::onednn>(cohort::graph(what->net), {.threads = threads});
  std::vector<std::int32_t> const prompt = {0};
  auto const generate = [&](int tokens) {
    return cohort::generate_tokens(
        net, prompt, {.count = tokens, .rules = {.temperature = 0.8}, .seed = 1, .cached = cached});
  };
  generate(std::min(count, 8));
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) times.push_back(seconds([&] { generate(count); }));
  std::printf(
      "{\"name\": \"cohort\", \"net\": \"%s\", \"threads\": %d, \"cached\": %s, \"tokens\": %d, "
      "\"tokens_per_second\": %.1f}\n",
      argv[1], threads, cached ? "true" : "false", count, count / median(times));
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
