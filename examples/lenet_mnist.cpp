// SPDX-License-Identifier: Apache-2.0
// needs: documents onednn zlib
// LeNet on MNIST by one or several ranks, with all settings on the command line: lenet_mnist --help
#include <cohort/graph/network.hpp>
#include "reference_program/mnist_sets.hpp"
#include "reference_program/program.hpp"

namespace {

using namespace cohort;

// clang-format off
constexpr auto lenet = network<[](builder& net) {
  return net.input({1, 28, 28})
       | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
       | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
       | dense{.units = 200} | relu{}
       | dense{.units = 10} | softmax_cross_entropy{};
}>();
// clang-format on
static_assert(lenet.parameter_count() == 67'780);

reference_program::program const lenet_mnist{
    .text = {.name = "lenet_mnist",
             .purpose = "Trains LeNet on MNIST and prints a classification report of the test images.",
             .data = reference_program::mnist_help,
             .learning_rate = "AdaGrad's learning rate"},
    .defaults = {.run = {.training = {.optimizer = {.rule = adagrad{.learning_rate = 0.02}, .l2 = 5e-4}},
                         .fit = {.epochs = 5}}},
    .data = reference_program::mnist_sets,
    .network = [](auto const&, auto const&) { return graph(lenet); }};

}  // namespace

int main(int argc, char** argv) { return run(lenet_mnist, argc, argv); }
