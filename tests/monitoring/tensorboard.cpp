// SPDX-License-Identifier: Apache-2.0
// Trains a small network on two ranks and writes event files of every kind to the folder argv[1].
#include <array>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>

namespace {

constexpr auto net = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 4, 4}) | conv2d{.filters = 3, .kernel = 3, .name = "first"} | relu{}
         | dense{.units = 2} | softmax_cross_entropy{};
}>();

/// Adds a text, an image and a curve of the program after the first step.
struct own_values final : cohort::listener {
  explicit own_values(cohort::tensorboard_listener& board) : board(&board) {}
  void on_step(cohort::training&, cohort::step_report const& done) override {
    if (!board->file() || done.step != 0) return;
    constexpr std::array<std::uint8_t, 6> pixels{255, 0, 0, 0, 0, 255};
    board->file()->image("own/pixels", 1, 1, 2, 3, pixels);
    board->file()->text("own/note", 1, "**bold**");
    board->file()->scalar("own/scalar", 1, 0.25);
  }
  cohort::tensorboard_listener* board;
};

}  // namespace

int main(int, char** argv) {
  std::string const folder = argv[1];
  std::vector<float> inputs;
  std::vector<int> labels;
  for (int i = 0; i < 48; ++i) {
    labels.push_back(i % 2);
    for (int k = 0; k < 16; ++k)
      inputs.push_back((k % 2 == i % 2 ? 1.F : 0.F) + 0.01F * static_cast<float>(i));
  }
  return cohort::launch<cohort::threads>(2, [&](auto& world) {
    auto run = cohort::trainer<cohort::reference<float>>(
        net, world, cohort::allreduce{}, {.optimizer = {cohort::sgd{.learning_rate = 0.125}}, .seed = 7});
    cohort::tensorboard_listener board(
        folder,
        {.every = 2, .histograms_every = 4, .hyperparameters = {{"width", 3.0}, {"batch_per_rank", 4.5}}});
    own_values own(board);
    auto const data = cohort::arrays(inputs, {1, 4, 4}, labels, 2);
    run.fit(data, {.batch = 4,
                   .epochs = 2,
                   .validation = data,
                   .metrics = {cohort::metrics::accuracy},
                   .listeners = {&board, &own}});
  });
}
