// SPDX-License-Identifier: Apache-2.0
// needs: documents onednn
// label: slow
// A recurrent network that predicts the next character of a text and generates text: char_lstm --help
#include <cohort/layer/recurrent.hpp>
#include "reference_program/program.hpp"
#include "reference_program/text_sets.hpp"

namespace {

using namespace cohort;
using reference_program::options;
using reference_program::sets;

constexpr int steps = 100;

graph characters(options const&, sets const& text) {
  int const vocabulary = text.train.describe().targets[0].classes;
  // clang-format off
  return graph::build([&](builder& net) {
    return net.input({steps})
           | embedding{.vocabulary = vocabulary, .width = 256}
           | lstm{.units = 256}
           | lstm{.units = 256}
           | dense{.units = vocabulary} | softmax_cross_entropy{};
  });
  // clang-format on
}

reference_program::program const char_lstm{
    .text = {.name = "char_lstm",
             .purpose =
                 "Trains two LSTM layers to predict the next character of a text, and prints a sample.",
             .data = reference_program::text_help,
             .learning_rate = "Adam's learning rate",
             .generate = "characters of the sample; with --load FILE --epochs 0: only the sample"},
    .defaults = {.run = {.training = {.optimizer = {.rule = adam{.learning_rate = 0.002, .beta2 = 0.99},
                                                    .normalisation = normalise::clip_global_norm{1}}},
                         .fit = {.epochs = 2},
                         .evaluation = {.batch = 64}},
                 .generate = 300},
    .data = [](options const& chosen) { return reference_program::crops_of(chosen, steps); },
    .network = characters,
    .afterwards = reference_program::print_sample_by_steps};

}  // namespace

int main(int argc, char** argv) { return run(char_lstm, argc, argv); }
