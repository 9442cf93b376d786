// SPDX-License-Identifier: Apache-2.0
// needs: interchange onednn text
// Trains a transformer from given parameters on given batches of tokens, and prints the loss of each step as
// JSON:
//   train_on_tokens NET DTYPE WEIGHTS MAP TOKENS BATCH RATE WORKERS
// WEIGHTS: a safetensors file, which MAP maps to the parameters (cohort/interchange/name_map.hpp). TOKENS: a
// sequence of i32 numbers, cut into examples in order; BATCH consecutive examples are the batch of one step.
// compare_losses.py runs this program.
#include "arguments.hpp"
#include "context.hpp"
#include "networks.hpp"

#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/onednn.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/text/token_stream.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

using namespace benchmarks;
using namespace cohort;

training make(std::string const& type, graph net, double rate, int workers) {
  training_settings const settings{.optimizer = {adam{.learning_rate = rate}}, .workers = workers};
  if (type == "f32") return trainer<onednn>(std::move(net), settings);
  if (type == "bf16") return trainer<onednn_bf16>(std::move(net), settings);
  throw setting_error({.what = "unknown type", .where = "DTYPE", .expected = "f32 or bf16", .got = type});
}

}  // namespace

int main(int argc, char** argv) try {
  auto const what = argc == 9 ? find_network(argv[1]) : std::nullopt;
  if (!what) {
    std::fprintf(
        stderr,
        "usage: train_on_tokens gpt_small|gpt_baby|gpt2_124m DTYPE WEIGHTS MAP TOKENS BATCH RATE WORKERS\n");
    return 2;
  }
  int const batch = whole_number(argv[6], "BATCH"), workers = whole_number(argv[8], "WORKERS");
  training model = make(argv[2], graph(what->net), std::atof(argv[7]), workers);
  safetensors const weights = safetensors::load(argv[3]);
  read_mapped(weights.tensors(), weights.name(), name_map::load(argv[4]), model.network(),
              model.parameters());

  graph_view const net = model.network();
  crop_settings const crops{.length = net[net.with_role(layer_role::input)[0]].output[0],
                            .vocabulary = net[net.size() - 1].output[1],
                            .fixed = true};
  loader batches(token_crops(token_stream::map(argv[5], token_type::i32), crops),
                 {.batch = batch, .shuffle = false});
  std::printf("{\"name\": \"cohort\", \"commit\": \"%s\", \"net\": \"%s\", \"dtype\": \"%s\", \"losses\": [",
              commit().c_str(), argv[1], argv[2]);
  char const* comma = "";
  while (cohort::batch const* const next = batches.next()) {
    std::printf("%s%.6f", comma, model.train_on(*next).loss);
    comma = ", ";
  }
  std::puts("]}");
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
