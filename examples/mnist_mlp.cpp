// SPDX-License-Identifier: Apache-2.0
// needs: documents onednn zlib
// label: slow
// A multilayer perceptron on MNIST: mnist_mlp --help
#include <cohort/graph/network.hpp>
#include "reference_program/mnist_sets.hpp"
#include "reference_program/program.hpp"

namespace {

using namespace cohort;

// clang-format off
constexpr auto mlp = network<[](builder& net) {
  return net.input({1, 28, 28})
       | dense{.units = 500} | leaky_relu{.slope = 0.01}
       | dense{.units = 100} | leaky_relu{.slope = 0.01}
       | dense{.units = 10} | softmax_cross_entropy{};
}>();
// clang-format on
static_assert(mlp.parameter_count() == 443'610);

reference_program::program const mnist_mlp{
    .text = {.name = "mnist_mlp",
             .purpose =
                 "Trains a multilayer perceptron on MNIST and prints a classification report of the test "
                 "images.",
             .data = reference_program::mnist_help,
             .learning_rate = "the learning rate; Nesterov's momentum is 0.9"},
    .defaults = {.run = {.training = {.optimizer = {.rule = nesterov{.learning_rate = 0.02, .momentum = 0.9},
                                                    .l2 = 1e-4},
                                      .seed = 12345},
                         .fit = {.epochs = 5}}},
    .data = reference_program::mnist_sets,
    .network = [](auto const&, auto const&) { return graph(mlp); }};

}  // namespace

int main(int argc, char** argv) { return run(mnist_mlp, argc, argv); }
