// SPDX-License-Identifier: Apache-2.0
// needs: documents image onednn
// label: slow
// A convolutional network of 18.8 million parameters on CIFAR-10: cifar10 --help
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/image/cifar10.hpp>
#include <cohort/image/image_folder.hpp>
#include <string>
#include "reference_program/folders.hpp"
#include "reference_program/program.hpp"
#include "reference_program/synthetic_images.hpp"

namespace {

using namespace cohort;
using reference_program::options;
using reference_program::sets;

/// Eight convolutions and three dense layers. With `Original`, biases are initialised with small constants,
/// dense layers have Deeplearning4j's default activation, and dropout keeps 20 % of the elements; this
/// network does not learn. Without `Original`, the network learns.
template <bool Original>
constexpr auto cifar = network<[](builder& net) {
  auto const bias = [](double value) -> layer_settings {
    if (Original) return {.bias = init::constant{value}};
    return {};
  };
  auto const same = [&](int filters, int kernel) {
    return [=, settings = bias(1e-2)](tensor x) {
      return x | conv2d{.filters = filters, .kernel = kernel, .padding = padding::same, .settings = settings}
             | relu{};
    };
  };
  auto const activation = [](tensor x) { return Original ? x | sigmoid{} : x | relu{}; };
  constexpr double dropped = Original ? 0.8 : 0.2;
  // clang-format off
  return net.input({3, 32, 32})
       | same(64, 4) | same(64, 4) | max_pool{.window = 2}
       | same(96, 4) | same(96, 4) | same(128, 3) | same(128, 3)
       | same(256, 2) | same(256, 2) | max_pool{.window = 2}
       | dense{.units = 1024, .settings = bias(1e-3)} | activation | dropout{.rate = dropped}
       | dense{.units = 1024, .settings = bias(1e-2)} | activation | dropout{.rate = dropped}
       | dense{.units = 10} | softmax_cross_entropy{};
  // clang-format on
}>();
static_assert(cifar<false>.parameter_count() == 18'804'810);

/// The first dense layer uses a tenth of the learning rate; with --original, biases use twice the rate.
void adjust(options const& chosen, optimizer_settings& how) {
  double const rate = chosen.learning_rate();
  layer_override first{.layer = "dense_1", .rule = adam{.learning_rate = rate / 10}};
  if (chosen.original) {
    how.bias_rule = adam{.learning_rate = 2 * rate};
    first.bias_rule = adam{.learning_rate = rate / 5};
  }
  how.layers = {first};
}

/// Reads the binary files as distributed, or class folders in train/ and test/.
sets images(options const& chosen) {
  for (std::string const& folder : reference_program::folders_of("cifar10", chosen.data)) {
    for (std::string const& files : {folder, folder + "/cifar-10-batches-bin"}) {
      if (!reference_program::is_file(files + "/test_batch.bin")) continue;
      std::vector<std::string> batches;
      for (int n = 1; n <= 5; ++n) batches.push_back(files + "/data_batch_" + std::to_string(n) + ".bin");
      return {.train = cifar10::read(batches),
              .test = cifar10::read({files + "/test_batch.bin"}),
              .where = files};
    }
    if (!reference_program::is_folder(folder + "/train")) continue;
    image_settings const size{.height = 32, .width = 32};
    image_folder train(folder + "/train", size), test(folder + "/test", size);
    return {.train = std::move(train), .test = std::move(test), .where = folder};
  }
  if (!chosen.data.empty())
    throw data_error({.what = "CIFAR-10 not found",
                      .where = chosen.data,
                      .expected = "data_batch_1.bin to data_batch_5.bin and test_batch.bin, or the folders "
                                  "train and test with one folder per class",
                      .got = "neither"});
  return {
      .train = reference_program::synthetic_images(2'000, {3, 32, 32}, 10, 1),
      .test = reference_program::synthetic_images(500, {3, 32, 32}, 10, 1, 2'000),
      .kind = "synthetic",
      .notice = "CIFAR-10 was not found: these images are synthetic; the accuracy is not that of CIFAR-10.",
      .where = "synthetic, seed 1"};
}

reference_program::program const cifar10_program{
    .text =
        {.name = "cifar10",
         .purpose = "Trains a convolutional network on CIFAR-10 and prints a classification report of the "
                    "test images.",
         .data =
             "folder with CIFAR-10's binary files, or with folders train and test containing one folder per "
             "class; default: $COHORT_DATA, data/ or the cache, otherwise synthetic images",
         .learning_rate = "Adam's learning rate; the first dense layer uses a tenth of it",
         .original =
             "the settings published with this network, with which it does not learn: rate 0.01, twice that "
             "for biases, L1 and L2 penalties, gradients normalised to norm 1, sigmoid in the dense layers, "
             "dropout that keeps 20 %"},
    .defaults = {.run = {.training = {.optimizer = {.rule = adam{.learning_rate = 5e-4}},
                                      .weights = init::relu{}},
                         .fit = {.epochs = 5, .prefetch = 2}}},
    .original = {.optimizer = {.rule = adam{.learning_rate = 1e-2},
                               .l1 = 1e-4,
                               .l2 = 5e-4,
                               .normalisation = normalise::renormalize_l2_per_layer{}},
                 .weights = init::xavier_uniform{}},
    .data = images,
    .network = [](options const& chosen,
                  sets const&) { return chosen.original ? graph(cifar<true>) : graph(cifar<false>); },
    .adjust = adjust};

}  // namespace

int main(int argc, char** argv) { return run(cifar10_program, argc, argv); }
