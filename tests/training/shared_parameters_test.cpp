// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cohort/text/token_crops.hpp>
#include <cstddef>
#include <string>
#include <vector>
#include "../strategy/rank_cases.hpp"

namespace shared_parameters_test {

using namespace cohort_test;

/// The same layer three times, with shared or separate parameters, above a layer that is trained through all
/// three.
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
  training_settings made{
      .optimizer = {nesterov{.learning_rate = 0.05, .momentum = 0.9}}, .seed = 7, .workers = workers};
  for (std::string const& name : frozen) made.optimizer.layers.push_back({.layer = name, .frozen = true});
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

TEST(shared_parameters, train_equally_over_ranks_workers_and_micro_batches) {
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

/// A language model whose embedding is also its output layer. Token 3 is not predicted.
graph language_model() {
  return graph::build([](builder& b) {
    return b.input({6}) | embedding{.vocabulary = 9, .width = 8, .name = "words"} | dense{.units = 8}
           | layer_norm{} | tanh_activation{}
           | dense{.units = 9, .bias = false, .settings = {.shares = "words"}}
           | softmax_cross_entropy{.ignore_index = 3};
  });
}

dataset drawn_crops() {
  random_stream const draws(5, "tokens");
  std::vector<std::int32_t> tokens;
  for (std::uint64_t i = 0; i < 300; ++i) tokens.push_back(static_cast<std::int32_t>(draws.below(i, 9)));
  return token_crops(token_stream(tokens), {.length = 6, .vocabulary = 9});
}

TEST(shared_parameters, of_an_embedding_and_the_output_layer_train_over_ranks_and_workers) {
  training alone = trainer<wide>(language_model(), with(1));
  EXPECT_EQ(alone.network().parameter_count(), 9 * 8 + 8 * 8 + 8 + 2 * 8);
  alone.fit(drawn_crops(), {.batch = 12, .epochs = 2});
  auto const wanted = parameters_of(alone);
  for (int ranks : {2, 3})
    for (int pieces : {1, 2})
      launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        training made = trainer<wide>(language_model(), world, allreduce{}, with(1 + world.rank() % 2));
        made.fit(drawn_crops(), {.batch = 12 / ranks, .epochs = 2, .accumulate = pieces});
        EXPECT_LT(largest_difference(parameters_of(made), wanted), 1e-12)
            << ranks << " ranks, " << pieces << " pieces";
      });
}

TEST(weight_decay, excludes_vectors_and_selected_layers) {
  auto const trained = [](training_settings how) {
    how.seed = 7;
    training made = trainer<wide>(language_model(), std::move(how));
    made.fit(drawn_crops(), {.batch = 12, .epochs = 2});
    return parameters_of(made);
  };
  adamw const decaying{.learning_rate = 0.01, .decay = 0.3}, plain{.learning_rate = 0.01, .decay = 0};
  auto const all = trained({.optimizer = {decaying}});
  auto const matrices = trained({.optimizer = {.rule = decaying, .decay_from_rank = 2}});
  EXPECT_EQ(matrices, trained({.optimizer = {.rule = decaying, .bias_rule = plain}}));
  EXPECT_NE(matrices, all);
  auto const few =
      trained({.optimizer = {
                   .rule = decaying, .decay_from_rank = 2, .layers = {{.layer = "words", .decays = false}}}});
  EXPECT_EQ(few, trained({.optimizer = {.rule = decaying,
                                        .bias_rule = plain,
                                        .layers = {{.layer = "words", .rule = plain}}}}));
  EXPECT_NE(few, matrices);
}

}  // namespace shared_parameters_test
