// SPDX-License-Identifier: Apache-2.0
// needs: documents onednn
// label: slow
// A transformer that predicts the next character of a text and generates text: gpt --help
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include "reference_program/program.hpp"
#include "reference_program/text_sets.hpp"

namespace {

using namespace cohort;
using reference_program::options;
using reference_program::sets;

/// Settings of nanoGPT for a processor (small) and for characters on a GPU (baby), and of GPT-2's smallest
/// model (gpt2); sequences are short.
struct extents {
  int blocks, heads, units, steps;
  int vocabulary = 0;  // 0: vocabulary of the text
};
extents extents_of(options const& chosen) {
  if (chosen.size == "gpt2") return {12, 12, 768, 64, reference_program::words_of_gpt2};
  return chosen.size == "baby" ? extents{6, 6, 384, 256} : extents{4, 4, 128, 64};
}

graph transformer(options const& chosen, sets const& text) {
  extents const e = extents_of(chosen);
  int const vocabulary = text.train.describe().targets[0].classes;
  layer_settings const drawn{.weights = init::normal{.deviation = 0.02}};
  auto const to = [&](int units) { return dense{.units = units, .settings = drawn}; };
  // clang-format off
  return graph::build([&](builder& net) {
    tensor x = net.input({e.steps})
               | embedding{.vocabulary = vocabulary, .width = e.units, .settings = drawn, .name = "characters"}
               | learned_positions{.settings = drawn};
    for (int block = 0; block < e.blocks; ++block) {
      x = x + (x | layer_norm{} | to(3 * e.units) | attention{.heads = e.heads, .causal = true} | to(e.units));
      x = x + (x | layer_norm{} | to(4 * e.units) | gelu_tanh{} | to(e.units));
    }
    return x | layer_norm{}
           | dense{.units = vocabulary, .bias = false, .settings = {.shares = "characters"}}
           | softmax_cross_entropy{};
  });
  // clang-format on
}

reference_program::program const gpt{
    .text = {.name = "gpt",
             .purpose = "Trains a transformer to predict the next character of a text, and prints a sample.",
             .data = reference_program::text_help,
             .learning_rate = "AdamW's learning rate",
             .size =
                 "small: 4 blocks, 4 heads, 128 units, 64 characters; baby: 6, 6, 384, 256; gpt2: 12, 12, "
                 "768, 64 of 50,257 tokens, for --batch 4. It reads GPT-2's vocabulary if gpt2/vocab.json "
                 "and gpt2/merges.txt are beside the data",
             .sizes = {"small", "baby", "gpt2"},
             .generate = "characters of the sample; with --load FILE --epochs 0: only the sample"},
    .defaults =
        {.run = {.training = {.optimizer = {.rule = adamw{.learning_rate = 1e-3, .beta2 = 0.99, .decay = 0.1},
                                            .normalisation = normalise::clip_global_norm{1}}},
                 .fit = {.batch = 12},
                 .evaluation = {.batch = 64}},
         .size = "small",
         .generate = 300},
    .data =
        [](options const& chosen) {
          extents const e = extents_of(chosen);
          return reference_program::crops_of(chosen, e.steps, e.vocabulary);
        },
    .network = transformer,
    .afterwards = reference_program::print_sample};

}  // namespace

int main(int argc, char** argv) { return run(gpt, argc, argv); }
