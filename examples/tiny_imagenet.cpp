// SPDX-License-Identifier: Apache-2.0
// needs: documents image onednn
// label: slow
// A network of Darknet blocks on TinyImageNet's 200 classes, from file batches of `cohort data pack`:
// tiny_imagenet --help
#include <algorithm>
#include <cohort/data/loader.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/image/file_batches.hpp>
#include <cohort/training/training.hpp>
#include <cstdio>
#include <string>
#include "reference_program/folders.hpp"
#include "reference_program/program.hpp"
#include "reference_program/synthetic_images.hpp"

namespace {

using namespace cohort;
using reference_program::options;
using reference_program::sets;

constexpr int side = 64, all_classes = 200, ranked = 5;

constexpr tensor darknet(builder& net, int classes) {
  auto const block = [](int kernel, int filters, int pool) {
    return [=](tensor x) {
      x = x | conv2d{.filters = filters, .kernel = kernel, .padding = padding::same, .bias = false}
          | batch_norm{} | leaky_relu{.slope = 0.1};
      return pool > 0 ? x | max_pool{.window = pool} : x;
    };
  };
  // clang-format off
  return net.input({3, side, side})
       | block(3, 32, 0) | block(3, 64, 2)
       | block(2, 128, 0) | block(2, 256, 2)
       | block(2, 256, 0) | block(2, 512, 2)
       | conv2d{.filters = classes, .kernel = 1, .settings = {.weights = init::xavier{}}}
       | global_avg_pool{} | softmax_cross_entropy{};
  // clang-format on
}
static_assert(network<[](builder& net) { return darknet(net, all_classes); }>().parameter_count()
              == 1'074'664);

sets images(options const& chosen) {
  for (std::string const& folder : reference_program::folders_of("tiny_imagenet", chosen.data)) {
    if (!reference_program::is_file(folder + "/train/batch-000000.zip")) continue;
    file_batches const as_packed(folder + "/train");
    image_settings how{.height = side, .width = side, .other_sizes = fitting::stretch};
    how.labels = as_packed.labels();
    if (std::string const words = folder + "/words.txt"; reference_program::is_file(words))
      how.words = class_words(words);
    file_batches train(folder + "/train", how);
    how.keyed = true;
    file_batches test(folder + "/test", how);
    sets made{.train = std::move(train), .test = std::move(test), .where = folder};
    shape const size = as_packed.describe().inputs[0].example;
    if (int const classes = as_packed.describe().targets[0].classes;
        classes != all_classes || size != shape(3, side, side)) {
      made.kind = "scaled";
      std::string const pixels = std::to_string(size[1]) + "x" + std::to_string(size[2]);
      made.notice = "Not TinyImageNet, but " + std::to_string(classes) + " classes of images of " + pixels
                    + " pixels" + (pixels == "64x64" ? "" : ", scaled to 64x64")
                    + "; the accuracy is not that of TinyImageNet.";
    }
    return made;
  }
  if (!chosen.data.empty())
    throw data_error({.what = "no file batches found",
                      .where = chosen.data,
                      .expected = "train/batch-000000.zip and so on, made by cohort data pack",
                      .got = "none"});
  return {
      .train = reference_program::synthetic_images(640, {3, side, side}, 20, 1),
      .test = reference_program::synthetic_images(200, {3, side, side}, 20, 1, 640),
      .kind = "synthetic",
      .notice =
          "TinyImageNet was not found: these images are synthetic; the accuracy is not that of TinyImageNet.",
      .where = "synthetic, seed 1"};
}

/// Learning rates of the original program: 8e-3; from epochs 1, 3, 5 and 7: 6e-3, 3e-3, 1e-3 and 5e-4.
void adjust(options const& chosen, optimizer_settings& how) {
  double const first = chosen.learning_rate();
  how.rule = how.rule.with_learning_rate(
      schedule::map{{{0, first}, {1, first * 3 / 4}, {3, first * 3 / 8}, {5, first / 8}, {7, first / 16}}});
}

/// Prints the file names and predicted classes of the first test images.
void recognise(training& trained, options const&, sets const& images) {
  if (trained.world().rank() != 0 || !images.test.describe().keyed) return;
  auto const& labels = images.test.describe().targets[0].label_names;
  loader batches(images.test, {.batch = 5, .shuffle = false});
  batches.start(0);
  batch const& few = *batches.next();
  std::puts("");
  for (auto const& [key, shares] : trained.predict(few.keys, few.input())) {
    auto const best = std::max_element(shares.begin(), shares.end());
    std::printf("%s: %s, %.0f %%\n", key.c_str(),
                labels[static_cast<std::size_t>(best - shares.begin())].c_str(),
                100 * static_cast<double>(*best));
  }
}

reference_program::program const tiny_imagenet{
    .text =
        {.name = "tiny_imagenet",
         .purpose =
             "Trains a network of Darknet blocks on TinyImageNet and reports top-1 and top-5 accuracy.",
         .data =
             "folder made by cohort data pack: train/ and test/ with archives of images, which are scaled to "
             "64x64; default: $COHORT_DATA, data/ or the cache, otherwise synthetic images",
         .learning_rate =
             "AMSGrad's learning rate in the first epoch; later 3/4 of it, and 3/8, 1/8 and 1/16 from "
             "epochs 3, 5 and 7",
         .master =
             "the host of rank 0: with a launcher, it is checked; without one, the processes meet there over "
             "TCP"},
    .defaults = {.run = {.training = {.optimizer = {.rule = amsgrad{.learning_rate = 8e-3}, .l2 = 1e-4},
                                      .weights = init::relu{}},
                         .fit = {.epochs = 8, .prefetch = 2},
                         .evaluation = {.top = ranked}}},
    .data = images,
    .network =
        [](options const&, sets const& found) {
          int const classes = found.train.describe().targets[0].classes;
          return graph::build([=](builder& net) { return darknet(net, classes); });
        },
    .adjust = adjust,
    .afterwards = recognise};

}  // namespace

int main(int argc, char** argv) { return run(tiny_imagenet, argc, argv); }
