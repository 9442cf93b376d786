// SPDX-License-Identifier: Apache-2.0
// needs: documents interchange onednn zlib
// label: slow
// Trains LeNet on MNIST, then a logistic regression on the outputs of its dense layer:
// features_logistic --help
#include <cohort/documents/ranks.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <cohort/prediction/features.hpp>
#include <cstdio>
#include <string>
#include "reference_program/mnist_sets.hpp"
#include "reference_program/program.hpp"

namespace {

using namespace cohort;
using reference_program::options;
using reference_program::sets;

constexpr int features = 200;

// clang-format off
constexpr auto lenet = network<[](builder& net) {
  return net.input({1, 28, 28})
       | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
       | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
       | dense{.units = features} | relu{.name = "features"}
       | dense{.units = 10} | softmax_cross_entropy{};
}>();
// clang-format on

constexpr auto logistic = network<[](builder& net) {
  return net.input({features}) | dense{.units = 10} | softmax_cross_entropy{};
}>();

/// Writes the features of the test images, computed by all ranks, to a file.
void write_features(training& trained, std::string const& path, dataset const& images) {
  auto const format = path.ends_with(".npy") ? prediction_format::npy : prediction_format::csv;
  auto const written =
      write_predictions(trained, images, path, {.outputs = {"features"}, .format = format, .chunk = 1'000});
  if (trained.world().rank() == 0)
    std::printf("\nfeatures of %lld images in %s\n", static_cast<long long>(written.examples), path.c_str());
}

/// Trains the regression on LeNet's features; LeNet's parameters stay fixed.
void regress(training& trained, options const& chosen, sets const& images) {
  if (!chosen.features.empty()) write_features(trained, chosen.features, images.test);
  run_document run = chosen.run;
  run.training.optimizer = {.rule = adam{.learning_rate = 1e-3}, .l2 = 1e-4};
  training regression =
      documents::make_training(run, graph(logistic), trained.world(), reference_program::flag_names);
  regression.fit(trained.features({"features"}, images.train), {.batch = run.fit.batch, .epochs = 5});
  auto const report = regression.evaluate(trained.features({"features"}, images.test));
  std::string const path = run.output.model.empty() ? "" : run.output.model + ".logistic";
  if (!path.empty()) reference_program::save(regression, path);
  if (trained.world().rank() != 0) return;
  std::printf("\nlogistic regression on the %d features: accuracy %.2f %%\n", features,
              100 * report.accuracy().value_or(0));
  if (!path.empty()) std::printf("saved in %s\n", path.c_str());
}

reference_program::program const features_logistic{
    .text =
        {.name = "features_logistic",
         .purpose =
             "Trains LeNet on MNIST, then a logistic regression on the outputs of LeNet's dense layer.\n"
             "--save FILE writes the regression to FILE.logistic.",
         .data = reference_program::mnist_help,
         .learning_rate = "AdaGrad's learning rate",
         .features =
             "writes the outputs of LeNet's dense layer for the test images, by all ranks, to a CSV file, "
             "or to an NPY file if its name ends with .npy; an interrupted call resumes"},
    .defaults = {.run = {.training = {.optimizer = {.rule = adagrad{.learning_rate = 0.02}, .l2 = 5e-4}}}},
    .data = reference_program::mnist_sets,
    .network = [](auto const&, auto const&) { return graph(lenet); },
    .afterwards = regress};

}  // namespace

int main(int argc, char** argv) { return run(features_logistic, argc, argv); }
