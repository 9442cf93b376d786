// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/launch.hpp>
#include <limits>
#include <sstream>
#include <string>
#include <vector>
#include "../strategy/rank_cases.hpp"

namespace settings_test {

using namespace cohort_test;

/// One parameter, dense.
template <class T>
std::vector<T> values(training const& of, std::string const& name) {
  parameter_set const& all = of.parameters();
  for (std::size_t p = 0; p < all.table().size(); ++p) {
    if (all.table()[p].name != name) continue;
    std::vector<T> dense(static_cast<std::size_t>(all.table()[p].spec.dims.elements()));
    all.read(static_cast<int>(p), all.master(), reinterpret_cast<std::byte*>(dense.data()));
    return dense;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

/// All settings of single layers, on the layers of `small` and a norm.
training_settings with_layers(int workers = 1) {
  return {.optimizer = {.rule = adam{.learning_rate = 0.01},
                        .l2 = 1e-4,
                        .normalisation = normalise::clip_global_norm{2},
                        .constraint = constraint::max_norm{1.5},
                        .layers = {{.layer = "dense_1",
                                    .rule = nesterov{.learning_rate = 0.05},
                                    .bias_rule = lamb{},
                                    .l1 = 1e-4},
                                   {.layer = "dense_2", .l2 = 0, .constraint = constraint::unit_norm{}}}},
          .seed = 7,
          .workers = workers};
}

constexpr auto normed = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{.momentum = 0.5} | relu{}
         | conv2d{.filters = 5, .kernel = 3} | batch_norm{.momentum = 0.5} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

training_settings with_frozen(std::vector<std::string> const& layers, int workers = 1) {
  training_settings settings = with_layers(workers);
  settings.optimizer.layers.clear();
  for (std::string const& name : layers) settings.optimizer.layers.push_back({.layer = name, .frozen = true});
  return settings;
}

TEST(training_settings, keep_frozen_layers_bitwise) {
  bright_thirds const examples(110);
  for (int workers : {1, 3}) {
    training made = trainer<narrow>(normed, with_frozen({"conv2d_1", "batch_norm_*"}, workers));
    std::vector<std::string> const kept{"conv2d_1.weights",   "conv2d_1.bias",
                                        "batch_norm_1.scale", "batch_norm_1.running_mean",
                                        "batch_norm_2.shift", "batch_norm_2.running_variance"};
    std::vector<std::vector<float>> before;
    for (std::string const& name : kept) before.push_back(values<float>(made, name));
    std::vector<float> const second = values<float>(made, "conv2d_2.weights");
    EXPECT_EQ(made.fit(examples.data(), {.batch = 11, .epochs = 1}).steps, 10);
    for (std::size_t k = 0; k < kept.size(); ++k)
      EXPECT_EQ(values<float>(made, kept[k]), before[k]) << kept[k];
    EXPECT_NE(values<float>(made, "conv2d_2.weights"), second);
  }
}

/// Layers that are not frozen take the same first step as without frozen layers, unless a norm over the
/// network is used.
TEST(training_settings, freeze_layers_without_changing_the_first_step_of_others) {
  bright_thirds const examples(20);
  training_settings settings = with_frozen({});
  settings.optimizer.normalisation = {};
  training all = trainer<narrow>(small, settings);
  settings.optimizer.layers = {{.layer = "*", .frozen = true}, {.layer = "dense_*", .frozen = false}};
  training head = trainer<narrow>(small, settings);
  for (training* one : {&all, &head}) one->fit(examples.data(), {.batch = 20, .epochs = 1});
  for (char const* name : {"dense_1.weights", "dense_1.bias", "dense_2.weights", "dense_2.bias"})
    EXPECT_EQ(values<float>(head, name), values<float>(all, name)) << name;
  EXPECT_NE(values<float>(head, "conv2d_1.weights"), values<float>(all, "conv2d_1.weights"));
}

TEST(training_settings, of_layers_apply_for_any_number_of_workers_and_ranks) {
  bright_thirds const examples(96);
  auto const trained = [&](training_settings const& settings, graph const& net, int ranks, int batch) {
    std::vector<double> parameters;
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<wide>(net, world, allreduce{}, settings);
      made.fit(examples.data(), {.batch = batch / ranks, .epochs = 2});
      EXPECT_TRUE(same_text(world, made.checksum()));
      if (world.rank() == 0) parameters = parameters_of(made);
    });
    return parameters;
  };
  auto const alone = trained(with_layers(), small, 1, 24);
  EXPECT_LT(largest_difference(trained(with_layers(3), small, 1, 24), alone), 1e-11);
  EXPECT_LT(largest_difference(trained(with_layers(), small, 2, 24), alone), 1e-11);
  auto const frozen = trained(with_frozen({"conv2d_1", "batch_norm_*"}), normed, 1, 24);
  for (int ranks : {2, 3})
    EXPECT_LT(
        largest_difference(trained(with_frozen({"conv2d_1", "batch_norm_*"}), normed, ranks, 24), frozen),
        1e-11)
        << ranks;
}

TEST(training_settings, of_layers_are_reproducible_and_freeze_layers_under_averaging) {
  auto const twice = [&](auto how, training_settings const& settings) {
    std::string texts[2];
    for (std::string& text : texts)
      launch<threads>(3, [&](communicator& world) {
        std::string const sum = checksum_after(world, how, settings);
        if (world.rank() == 0) text = sum;
      });
    EXPECT_EQ(texts[0], texts[1]);
  };
  twice(allreduce{}, with_layers(3));
  twice(parameter_averaging{.every = 3}, with_layers(2));
  bright_thirds const examples(70);
  launch<threads>(3, [&](communicator& world) {
    training made = trainer<narrow>(small, world, parameter_averaging{.every = 2}, with_frozen({"dense_1"}));
    std::vector<float> const before = values<float>(made, "dense_1.weights");
    made.fit(examples.data(), {.batch = 7, .epochs = 2});
    EXPECT_EQ(values<float>(made, "dense_1.weights"), before);
  });
}

TEST(training_settings, send_no_gradients_of_frozen_layers) {
  struct last_step final : listener {
    std::uint64_t bytes = 0;
    void on_step(training&, step_report const& done) override { bytes = done.bytes_sent; }
  };
  bright_thirds const examples(96);
  auto const sent = [&](training_settings const& settings) {
    std::uint64_t bytes = 0;
    launch<threads>(2, [&](communicator& world) {
      training made = trainer<narrow>(small, world, allreduce{.resync = 0}, settings);
      last_step count;
      made.fit(examples.data(), {.batch = 16, .epochs = 1, .listeners = {&count}});
      if (world.rank() == 0) bytes = count.bytes;
    });
    return bytes;
  };
  std::uint64_t const all = sent(with_frozen({})), head = sent(with_frozen({"conv2d_1", "dense_1"}));
  EXPECT_EQ(all - head, 4U * (4 * 9 + 4 + 10 * 36 + 10));  // 2(P−1)/P · 4n bytes
}

TEST(training_settings, refuse_unknown_layers) {
  training_settings settings = with_layers();
  settings.optimizer.layers.push_back({.layer = "conv1", .frozen = true});
  try {
    trainer<narrow>(small, settings);
    FAIL() << "accepted";
  } catch (setting_error const& e) {
    EXPECT_EQ(e.why().where, "layers[2]");
    EXPECT_EQ(e.why().expected, "one of conv2d_1, dense_1, dense_2");
    EXPECT_EQ(e.why().got, "conv1");
  }
}

/// Error text of rank 1 if its settings are `other`.
std::string told(training_settings const& ours, training_settings const& other) {
  std::string what;
  bright_thirds const examples(12);
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, allreduce{}, world.rank() == 0 ? ours : other);
    try {
      made.fit(examples.data());
    } catch (setting_error const& e) {
      if (world.rank() == 1) what = e.what();
    }
  });
  return what;
}

TEST(training_settings, must_be_equal_on_all_ranks_in_every_field) {
  training_settings const ours = with_layers();
  EXPECT_EQ(told(ours, ours), "");
  auto const refused = [&](char const* word, auto change) {
    training_settings other = ours;
    change(other.optimizer);
    EXPECT_NE(told(ours, other).find(word), std::string::npos) << told(ours, other);
  };
  refused("optimizer.constraint.at: 1.5 on rank 0; 2 on rank 1",
          [](auto& s) { s.constraint = constraint::max_norm{2}; });
  refused("optimizer.bias_constraint", [](auto& s) { s.bias_constraint = constraint::non_negative{}; });
  refused("optimizer.layers[0].rule.learning_rate",
          [](auto& s) { s.layers[0].rule = nesterov{.learning_rate = 0.06}; });
  refused("optimizer.layers[0].bias_rule", [](auto& s) { s.layers[0].bias_rule.reset(); });
  refused("optimizer.layers[0].l1", [](auto& s) { s.layers[0].l1 = 0; });
  refused("optimizer.layers[1].l2", [](auto& s) { s.layers[1].l2.reset(); });
  refused("optimizer.layers[1].bias_l1", [](auto& s) { s.layers[1].bias_l1 = 2; });
  refused("optimizer.layers[1].bias_l2", [](auto& s) { s.layers[1].bias_l2 = 3; });
  refused("optimizer.layers[1].constraint", [](auto& s) { s.layers[1].constraint.reset(); });
  refused("optimizer.layers[1].bias_constraint",
          [](auto& s) { s.layers[1].bias_constraint = constraint::unit_norm{}; });
  refused("optimizer.layers[1].frozen", [](auto& s) { s.layers[1].frozen = true; });
  refused("optimizer.layers[2].layer", [](auto& s) { s.layers.push_back({.layer = "conv2d_1"}); });
  training_settings other = ours;
  other.plateau = reduce_on_plateau{};
  EXPECT_NE(told(ours, other).find("optimizer.plateau.patience"), std::string::npos) << told(ours, other);
  other = ours;
  other.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_NE(told(ours, other).find("seed: 7 on rank 0; 18446744073709551615 on rank 1"), std::string::npos)
      << told(ours, other);
  other = ours;
  other.threads = 2;
  EXPECT_EQ(told(ours, other), "") << "threads may differ";
}

TEST(training_settings, lower_the_rate_when_the_loss_of_epochs_stops_falling) {
  bright_thirds const examples(30);
  std::vector<std::string> said;
  // At rate 0 the loss is equal in all epochs, so it never improves.
  training made =
      trainer<wide>(small, {.optimizer = {sgd{.learning_rate = 0}},
                            .plateau = reduce_on_plateau{.factor = 0.5, .patience = 1, .cooldown = 1},
                            .seed = 7,
                            .log = [&](std::string_view line) { said.emplace_back(line); }});
  made.fit(examples.data(), {.batch = 10, .epochs = 7});
  std::vector<std::string> falls;
  for (std::string const& line : said)
    if (line.find("reached a plateau") != std::string::npos) falls.push_back(line);
  EXPECT_EQ(falls, (std::vector<std::string>{
                       "the loss has reached a plateau: learning rates times 0.5 from epoch 3 on",
                       "the loss has reached a plateau: learning rates times 0.25 from epoch 6 on"}));
}

TEST(training_settings, with_a_plateau_scale_the_steps_of_the_next_epoch) {
  bright_thirds const examples(30);
  auto const steps = [&](bool lowered) {
    training_settings settings = plain_sgd();
    // The threshold is so high that no loss is an improvement.
    if (lowered) settings.plateau = reduce_on_plateau{.factor = 0.25, .patience = 0, .threshold = 0.999};
    training made = trainer<wide>(small, settings);
    made.fit(examples.data(), {.batch = 30, .epochs = 2});  // the first epoch is always an improvement
    std::vector<double> const before = parameters_of(made);
    made.fit(examples.data(), {.batch = 30, .epochs = 1});
    std::vector<double> after = parameters_of(made);
    for (std::size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
    return after;
  };
  auto const plain = steps(false), lowered = steps(true);
  for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(lowered[i], 0.25 * plain[i], 1e-14) << i;
}

TEST(training_settings, of_layers_are_saved_with_the_optimizers_state) {
  bright_thirds const examples(30);
  training made = trainer<narrow>(small, with_layers());
  made.fit(examples.data(), {.batch = 10, .epochs = 1});
  std::stringstream file;
  made.save(file, true);
  model_file const saved = model_file::read(file);
  EXPECT_EQ(*saved.optimizer(), with_layers().optimizer);
  training again = trainer<narrow>(small, with_layers());
  again.load(saved);
  for (training* one : {&made, &again}) one->fit(examples.data(), {.batch = 10, .epochs = 1});
  EXPECT_EQ(again.checksum(), made.checksum());
  training_settings frozen = with_layers();
  frozen.optimizer.layers.push_back({.layer = "conv2d_1", .frozen = true});
  training later = trainer<narrow>(small, frozen);
  EXPECT_NO_THROW(later.load(saved)) << "state does not depend on what is frozen";
  training other = trainer<narrow>(small, with_frozen({}));
  EXPECT_THROW(other.load(saved), data_error) << "dense_1 had another optimizer";
}

}  // namespace settings_test
