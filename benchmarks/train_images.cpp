// SPDX-License-Identifier: Apache-2.0
// needs: onednn image
// Trains a small convolutional network on folders of images, and prints its accuracy as JSON:
//   train_images FOLDER SEED EPOCHS BATCH RATE
// FOLDER contains train and test with one folder of 32×32 images per class. The learning rate falls linearly
// to 0. compare_accuracy.py runs this program; keras_accuracy.py is its counterpart.
#include "arguments.hpp"
#include "context.hpp"
#include "stopwatch.hpp"

#include <cohort/data/cache.hpp>
#include <cohort/execution/usable_processors.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/image/image_folder.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdio>
#include <string>

namespace {

using namespace benchmarks;
using namespace cohort;

graph network(int classes) {
  return graph::build([&](builder& b) {
    auto const convolution = [](int filters) {
      return [=](tensor x) {
        return x | conv2d{.filters = filters, .kernel = 3, .padding = padding::same} | relu{};
      };
    };
    // clang-format off
    return b.input({3, 32, 32})
           | convolution(32) | convolution(32) | max_pool{.window = 2}
           | convolution(64) | convolution(64) | max_pool{.window = 2}
           | dense{.units = 256} | relu{} | dropout{.rate = 0.3}
           | dense{.units = classes} | softmax_cross_entropy{};
    // clang-format on
  });
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) {
    std::fprintf(stderr, "usage: train_images FOLDER SEED EPOCHS BATCH RATE\n");
    return 2;
  }
  std::string const folder = argv[1];
  int const seed = whole_number(argv[2], "SEED"), epochs = whole_number(argv[3], "EPOCHS"),
            batch = whole_number(argv[4], "BATCH");
  double const rate = real_number(argv[5], "RATE");
  image_settings const size{.height = 32, .width = 32};
  dataset const seen = cache(image_folder(folder + "/train", size)),
                held_out = cache(image_folder(folder + "/test", size));
  graph const net = network(static_cast<int>(seen.describe().targets[0].label_names.size()));
  auto const steps = (seen.size() + batch - 1) / batch * epochs;
  training model = trainer<onednn>(
      net, {.optimizer = {adam{
                .learning_rate =
                    schedule::polynomial{.initial = rate, .length = steps, .by = schedule::unit::step}}},
            .weights = init::xavier_uniform{},
            .seed = static_cast<std::uint64_t>(seed),
            .threads = usable_processors()});
  double const training_seconds = seconds([&] {
    model.normalise(seen);
    model.fit(seen, {.batch = batch, .epochs = epochs});
  });
  std::printf(
      "{\"by\": \"cohort\", \"commit\": \"%s\", \"compiler\": \"%s\", \"metric\": \"accuracy\", "
      "\"score\": %.6f, \"parameters\": %lld, \"seconds\": %.2f}\n",
      commit().c_str(), compiler().c_str(), model.evaluate(held_out).accuracy().value_or(0),
      static_cast<long long>(net.parameter_count()), training_seconds);
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
