// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// label: slow
// ResNet-50 on synthetic images, to measure the time of a training step: resnet50 --help
#include <cohort/graph/network.hpp>
#include "reference_program/drawn_images.hpp"
#include "reference_program/program.hpp"

namespace {

using namespace cohort;

constexpr int side = 224, classes = 1000, drawn_train = 32, drawn_test = 8;

constexpr tensor bottleneck(tensor x, int filters, int stride) {
  int const outputs = 4 * filters;
  tensor const body = x | conv2d{.filters = filters, .kernel = 1, .bias = false} | batch_norm{} | relu{}
                      | conv2d{.filters = filters, .kernel = 3, .stride = stride, .padding = 1, .bias = false}
                      | batch_norm{} | relu{}  //
                      | conv2d{.filters = outputs, .kernel = 1, .bias = false} | batch_norm{};
  bool const same = stride == 1 && x.dims()[0] == outputs;
  tensor const skipped =
      same ? x : x | conv2d{.filters = outputs, .kernel = 1, .stride = stride, .bias = false} | batch_norm{};
  return (body + skipped) | relu{};
}

/// He, Zhang, Ren and Sun, CVPR 2016, with the stride in the 3×3 convolution ("v1.5").
graph resnet50() {
  return graph::build([](builder& net) {
    tensor x = net.input({3, side, side})
               | conv2d{.filters = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false} | batch_norm{}
               | relu{} | max_pool{.window = 3, .stride = 2, .padding = 1};
    struct stage {
      int filters, blocks, stride;
    };
    for (stage const s : {stage{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}})
      for (int block = 0; block < s.blocks; ++block) x = bottleneck(x, s.filters, block == 0 ? s.stride : 1);
    x | global_avg_pool{} | dense{.units = classes} | softmax_cross_entropy{};
  });
}

reference_program::sets images(reference_program::options const&) {
  return {.train = reference_program::drawn_images(drawn_train, {3, side, side}, classes, 1),
          .test = reference_program::drawn_images(drawn_test, {3, side, side}, classes, 1, classes),
          .kind = "drawn",
          .notice = "These images are synthetic; the accuracy is not that of ImageNet.",
          .where = "drawn, seed 1"};
}

reference_program::program const program{
    .text = {.name = "resnet50",
             .purpose = "Trains ResNet-50 on a few synthetic images of 224x224 pixels, to measure its speed.",
             .rate = "the learning rate; the momentum is 0.9"},
    .defaults = {.batch = 8, .epochs = 1, .rate = 0.01},
    .top = 5,
    .evaluation_batch = 8,
    .data = images,
    .network = [](auto const&, auto const&) { return resnet50(); },
    .settings =
        [](auto const& chosen) {
          return training_settings{
              .updater = momentum{.rate = chosen.rate, .momentum = 0.9}, .l2 = 1e-4, .weights = init::relu{}};
        }};

}  // namespace

int main(int argc, char** argv) { return run(program, argc, argv); }
