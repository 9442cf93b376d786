// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cstddef>
#include <string>
#include <vector>
#include "../strategy/rank_cases.hpp"

namespace shared_parameters_test {

using namespace cohort_test;

/// The same layer three times, with shared or separate parameters; the layer below is trained through it.
graph chain(bool shared) {
  return graph::build([&](builder& b) {
    auto const again = [&](tensor x) {
      return shared ? x | dense{.units = 12, .settings = {.shares = "eye"}} | relu{}
                    : x | dense{.units = 12} | relu{};
    };
    return b.input({1, 8, 8}) | dense{.units = 12, .name = "below"} | relu{}
           | dense{.units = 12, .name = "eye"} | relu{} | again | again | dense{.units = 3, .name = "above"}
           | softmax_cross_entropy{};
  });
}

training_settings with(int workers, std::vector<std::string> const& frozen = {}) {
  training_settings made{.updater = nesterov{.rate = 0.05, .momentum = 0.9}, .seed = 7, .workers = workers};
  for (std::string const& name : frozen) made.layers.push_back({.layer = name, .frozen = true});
  return made;
}

std::vector<double> values_of(training const& made, std::string const& name) {
  std::vector<double> dense;
  parameter_set const& all = made.parameters();
  for (std::size_t p = 0; p < all.table().size(); ++p) {
    if (all.table()[p].name != name) continue;
    dense.resize(static_cast<std::size_t>(all.table()[p].spec.dims.elements()));
    all.read(static_cast<int>(p), all.master(), reinterpret_cast<std::byte*>(dense.data()));
  }
  return dense;
}

/// Gives the layers `dense_1` and `dense_2` the parameters of `eye`.
void repeat_eye(training& made) {
  parameter_set& all = made.parameters();
  for (std::size_t p = 0; p < all.table().size(); ++p) {
    std::string const& name = all.table()[p].name;
    std::size_t const dot = name.find('.');
    if (name.substr(0, 6) != "dense_") continue;
    auto const dense = values_of(made, "eye" + name.substr(dot));
    all.write(static_cast<int>(p), reinterpret_cast<std::byte const*>(dense.data()), all.master());
  }
  all.mark_changed();
}

TEST(shared_parameters, that_are_frozen_propagate_gradients_in_each_layer) {
  bright_thirds const examples(60);
  fit_settings const how{.batch = 10, .epochs = 2};
  training one = trainer<wide>(chain(true), with(1, {"eye"}));
  training three = trainer<wide>(chain(false), with(1, {"eye", "dense_*"}));
  repeat_eye(three);
  auto const eye = values_of(one, "eye.weights"), below = values_of(one, "below.weights");
  EXPECT_EQ(eye.size(), 144U);
  one.fit(examples.data(), how);
  three.fit(examples.data(), how);
  EXPECT_EQ(values_of(one, "eye.weights"), eye);
  EXPECT_GT(largest_difference(values_of(one, "below.weights"), below), 1e-3);
  for (char const* const name : {"below.weights", "below.bias", "above.weights", "above.bias"})
    EXPECT_EQ(values_of(one, name), values_of(three, name)) << name;
}

TEST(shared_parameters, train_over_ranks_workers_and_pieces_as_without_them) {
  bright_thirds const examples(57);
  for (std::vector<std::string> const& frozen : {std::vector<std::string>{}, {"below"}, {"eye"}}) {
    training alone = trainer<wide>(chain(true), with(1, frozen));
    alone.fit(examples.data(), {.batch = 12, .epochs = 2});
    auto const wanted = parameters_of(alone);
    for (int ranks : {2, 3})
      for (int pieces : {1, 2})
        launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
          training made = trainer<wide>(chain(true), world, allreduce{}, with(1 + world.rank() % 2, frozen));
          made.fit(examples.data(), {.batch = 12 / ranks, .epochs = 2, .accumulate = pieces});
          EXPECT_LT(largest_difference(parameters_of(made), wanted), 1e-12)
              << ranks << " ranks, " << pieces << " pieces";
        });
  }
}

}  // namespace shared_parameters_test
