// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// Training of transformers: the losses of PyTorch, ranks, checkpoints, files.
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/onednn.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/text/token_stream.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "../checkpoint/scratch_folder.hpp"
#include "../golden/golden_cases.hpp"
#include "parameters_of.hpp"

namespace transformer_training_test {

using namespace cohort;

constexpr int steps = 8, words = 11, units = 32;

graph transformer(bool rotates = false) {
  return graph::build([&](builder& net) {
    tensor x = net.input({steps}) | embedding{.vocabulary = words, .width = units, .name = "words"};
    if (!rotates) x = x | learned_positions{};
    for (int block = 0; block < 2; ++block) {
      x = x
          + (x | layer_norm{} | dense{.units = 3 * units}
             | attention{.heads = 4, .causal = true, .rotary = rotates ? 100.0 : 0} | dense{.units = units});
      x = x + (x | layer_norm{} | dense{.units = 4 * units} | gelu_tanh{} | dense{.units = units});
    }
    return x | layer_norm{} | dense{.units = words, .bias = false, .settings = {.shares = "words"}}
           | softmax_cross_entropy{};
  });
}

/// Gives all parameters the values of golden/transformer.py.
template <class T>
void initialise(training& net) {
  parameter_set& all = net.parameters();
  std::size_t i = 0;
  for (std::size_t p = 0; p < all.table().size(); ++p) {
    parameter const& one = all.table()[p];
    std::vector<T> values(static_cast<std::size_t>(one.spec.dims.elements()));
    for (T& value : values)
      value = static_cast<T>(std::sin(1.1 * static_cast<double>(i++)) / 10
                             + (one.name.ends_with(".scale") ? 1 : 0));
    all.write(static_cast<int>(p), reinterpret_cast<std::byte const*>(values.data()), all.master());
  }
  all.mark_changed();
}

/// The losses of 20 steps.
template <class B>
std::vector<double> losses(training_settings const& settings) {
  training net = trainer<B>(transformer(), settings);
  initialise<typename B::scalar>(net);
  constexpr int batch = 2;
  std::vector<double> made;
  for (int step = 0; step < 20; ++step) {
    std::vector<std::int32_t> tokens, labels;
    for (int n = 0; n < batch; ++n)
      for (int t = 0; t < steps; ++t) {
        tokens.push_back((31 * step + 17 * n + 7 * t + t * t % 5) % words);
        labels.push_back((3 * tokens.back() + 1 + t) % words);
      }
    tensor_view const input{tokens.data(), shape(batch, steps)}, target{labels.data(), shape(batch, steps)};
    made.push_back(net.train_on({input, target}).loss);
  }
  return made;
}

/// Compares the losses of the first steps with a case of the file: rounding errors grow with each step,
/// tenfold in each of the last steps.
void expect_golden(std::vector<double> const& got, std::string const& name, std::size_t steps,
                   double tolerance) {
  std::vector<double> const wanted = numbers_of(read_golden_cases("transformer.txt").at(name), "losses");
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < steps; ++k) EXPECT_NEAR(got[k], wanted[k], tolerance) << name << ", step " << k;
}

TEST(transformer_training, has_the_losses_of_pytorch) {
  adam const rule{.learning_rate = 3e-3};
  expect_golden(losses<reference<double>>({.optimizer = {rule}}), "adam", 20, 1e-9);
  for (training_settings const& f32 :
       {training_settings{.optimizer = {rule}}, training_settings{.optimizer = {rule}, .workers = 2},
        training_settings{.optimizer = {rule}, .threads = 2}})
    expect_golden(losses<onednn>(f32), "adam", 15, 1e-5);
  if (onednn_bf16::probe().usable)
    expect_golden(losses<onednn_bf16>({.optimizer = {rule}}), "adam", 12,
                  0.03);  // 8 significant bits
}

TEST(transformer_training, excludes_the_same_parameters_from_weight_decay_as_pytorch) {
  adamw const rule{.learning_rate = 3e-3, .decay = 2};
  struct row {
    char const* name;
    training_settings settings;
  };
  for (auto const& [name, settings] :
       {row{"adamw", {.optimizer = {rule}}},
        row{"adamw_matrices", {.optimizer = {.rule = rule, .decay_from_rank = 2}}},
        row{"adamw_without_embedding",
            {.optimizer = {
                 .rule = rule, .decay_from_rank = 2, .layers = {{.layer = "words", .decays = false}}}}}}) {
    expect_golden(losses<reference<double>>(settings), name, 20, 1e-9);
    expect_golden(losses<onednn>(settings), name, 10, 1e-5);
  }
}

/// Crops of a periodic text.
dataset text_of(int length) {
  std::vector<std::int32_t> tokens;
  for (int t = 0; t < length; ++t) tokens.push_back((t * t + 3 * (t % 7)) % words);
  return token_crops(token_stream(tokens), {.length = steps, .vocabulary = words});
}

template <class B, class Strategy>
std::string trained_over_ranks(int ranks, Strategy const& how, std::vector<double>& parameters) {
  std::string sum;
  launch<threads>(ranks, [&](communicator& world) {
    training net =
        trainer<B>(transformer(true), world, how, {.optimizer = {sgd{.learning_rate = 0.1}}, .seed = 3});
    net.fit(text_of(400), {.batch = 12 / ranks, .epochs = 1});
    std::string const own = net.checksum();
    gathered const all = world.allgatherv(std::as_bytes(std::span(own)));
    for (int rank = 1; rank < ranks; ++rank) EXPECT_TRUE(std::ranges::equal(all.of(rank), all.of(0)));
    if (world.rank() == 0) {
      sum = own;
      auto const values = cohort_test::parameters_of<typename B::scalar>(net);
      parameters.assign(values.begin(), values.end());
    }
  });
  return sum;
}

TEST(transformer_training, is_independent_of_the_number_of_ranks) {
  std::vector<double> one, two, three;
  trained_over_ranks<reference<double>>(1, allreduce{}, one);
  trained_over_ranks<reference<double>>(2, allreduce{}, two);
  trained_over_ranks<reference<double>>(3, allreduce{}, three);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_NEAR(one[i], two[i], 1e-12) << i;
    ASSERT_NEAR(one[i], three[i], 1e-12) << i;
  }
}

TEST(transformer_training, is_bitwise_reproducible) {
  std::vector<double> ignored;
  for (int ranks : {1, 2}) {
    EXPECT_EQ(trained_over_ranks<onednn>(ranks, allreduce{}, ignored),
              trained_over_ranks<onednn>(ranks, allreduce{}, ignored));
    EXPECT_EQ(trained_over_ranks<onednn>(ranks, threshold_sharing{}, ignored),
              trained_over_ranks<onednn>(ranks, threshold_sharing{}, ignored));
  }
}

TEST(transformer_training, resumes_bitwise) {
  scratch_folder const folder;
  training_settings const settings{.optimizer = {adamw{.learning_rate = 1e-3, .decay = 0.1}}, .seed = 3};
  auto const net = [&] { return trainer<onednn>(transformer(), settings); };
  training whole = net();
  whole.fit(text_of(300), {.batch = 8, .epochs = 2});
  training half = net();
  half.fit(text_of(300), {.batch = 8, .epochs = 1});
  std::string const path = folder.path() + "/half.cohort";
  half.save(path, true);
  training resumed = net();
  resumed.load(path);
  resumed.fit(text_of(300), {.batch = 8, .epochs = 1});
  EXPECT_EQ(resumed.checksum(), whole.checksum());
}

TEST(transformer_training, round_trips_its_network_through_json) {
  for (bool rotates : {false, true}) {
    graph const net = transformer(rotates);
    EXPECT_EQ(to_json(from_json(to_json(net))), to_json(net));
  }
}

}  // namespace transformer_training_test
