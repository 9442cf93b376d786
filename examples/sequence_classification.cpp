// SPDX-License-Identifier: Apache-2.0
// needs: documents onednn
// label: slow
// Classifies time series with recurrent layers; uses masks if the lengths of the series differ:
// sequence_classification --help
#include <algorithm>
#include <cohort/layer/recurrent.hpp>
#include "reference_program/program.hpp"
#include "reference_program/series_sets.hpp"

namespace {

using namespace cohort;
using reference_program::options;
using reference_program::sets;

/// For series with one column (control charts): one LSTM. For series with several columns (vowels): one LSTM
/// in each direction.
graph classifier(options const&, sets const& series) {
  data_description const& what = series.train.describe();
  shape const extents = what.inputs[0].example;
  int const classes = what.targets[0].classes;
  return graph::build([&](builder& net) {
    tensor const x = net.masked_input(extents);
    tensor const end = extents[1] == 1 ? x | lstm{.units = 128, .last_step = true}
                                       : concat(x | lstm{.units = 64, .last_step = true},
                                                x | lstm{.units = 64, .last_step = true, .reverse = true});
    return end | dense{.units = classes} | softmax_cross_entropy{};
  });
}

reference_program::program const sequence_classification{
    .text = {.name = "sequence_classification",
             .purpose =
                 "Trains LSTM layers to classify time series and prints a classification report of the test "
                 "series.",
             .data = reference_program::series_help,
             .learning_rate = "Adam's learning rate"},
    .defaults = {.run = {.training = {.optimizer = {.rule = adam{.learning_rate = 0.005},
                                                    .normalisation = normalise::clip_global_norm{1}}},
                         .fit = {.epochs = 40}}},
    .normalises = true,
    .data = reference_program::series_sets,
    .network = classifier};

}  // namespace

int main(int argc, char** argv) { return run(sequence_classification, argc, argv); }
