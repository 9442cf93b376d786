// SPDX-License-Identifier: Apache-2.0
// needs: documents onednn
// label: slow
// ResNet-50 on synthetic images, to measure the time of a training step: resnet50 --help
//   resnet50 --weights torchvision.safetensors --map examples/torchvision_resnet.map --epochs 0
#include "reference_program/program.hpp"
#include "reference_program/resnet.hpp"
#include "reference_program/synthetic_images.hpp"

namespace {

using namespace cohort;

constexpr int synthetic_train = 32, synthetic_test = 8;

reference_program::sets images(reference_program::options const&) {
  auto const [side, classes, blocks] = reference_program::resnet50_size;
  return {.train = reference_program::synthetic_images(synthetic_train, {3, side, side}, classes, 1),
          .test = reference_program::synthetic_images(synthetic_test, {3, side, side}, classes, 1, classes),
          .kind = "synthetic",
          .notice = "These images are synthetic; the accuracy is not that of ImageNet.",
          .where = "synthetic, seed 1"};
}

reference_program::program const program{
    .text = {.name = "resnet50",
             .purpose = "Trains ResNet-50 on a few synthetic images of 224x224 pixels, to measure its speed.",
             .learning_rate = "the learning rate; the momentum is 0.9",
             .weights = "a safetensors file of another library, such as torchvision, as initial parameters"},
    .defaults = {.run = {.training = {.optimizer = {.rule = momentum{.learning_rate = 0.01, .momentum = 0.9},
                                                    .l2 = 1e-4},
                                      .weights = init::relu{}},
                         .fit = {.batch = 8},
                         .evaluation = {.batch = 8, .top = 5}}},
    .data = images,
    .network = [](auto const&, auto const&) {
      return reference_program::resnet(reference_program::resnet50_size);
    }};

}  // namespace

int main(int argc, char** argv) { return run(program, argc, argv); }
