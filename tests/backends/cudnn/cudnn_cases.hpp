// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../../backend/ladder.hpp"
#include "../../training/bright_thirds.hpp"
#include "../../training/parameters_of.hpp"
#include "conformance.hpp"

/// Requirements on a GPU, real or simulated.
namespace cudnn_cases {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::parameters_of;

struct named_network {
  char const* name;
  graph net;
};

// clang-format off
inline constexpr auto lenet = network<[](builder& net) {
  return net.input({1, 28, 28})
       | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
       | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
       | dense{.units = 200} | relu{}
       | dense{.units = 10} | softmax_cross_entropy{};
}>();
// clang-format on

/// A convolution without a bias, a norm and a rectifier, with padding that differs per side; then a residual
/// block.
inline constexpr auto normed = network<[](builder& net) {
  tensor const x = net.input({1, 8, 8})
                   | conv2d{.filters = 6, .kernel = 2, .padding = padding::same, .bias = false} | batch_norm{}
                   | leaky_relu{.slope = 0.1} | max_pool{.window = 2};
  tensor const y = x | conv2d{.filters = 6, .kernel = 3, .padding = 1, .bias = false} | batch_norm{} | relu{}
                   | conv2d{.filters = 6, .kernel = 3, .padding = 1, .bias = false} | batch_norm{};
  return ((x + y) | relu{}) | conv2d{.filters = 3, .kernel = 1} | global_avg_pool{} | softmax_cross_entropy{};
}>();

/// Operations that run inside a layer's kernels: sums with and without a rectifier after norms and
/// convolutions, rectifiers with and without a bias, a summand with several consumers.
inline constexpr auto fused = network<[](builder& net) {
  auto const conv = [](bool bias) { return conv2d{.filters = 4, .kernel = 3, .padding = 1, .bias = bias}; };
  tensor const x = net.input({2, 6, 5}) | conv(true) | leaky_relu{.slope = 0.3};
  tensor const y = x | conv(false) | batch_norm{} | relu{} | conv(false) | batch_norm{};
  tensor const z = (y + x) | leaky_relu{.slope = 0.2};
  tensor const w = (z | conv(false) | batch_norm{}) + z;
  tensor const v = ((w | conv(true)) + x) | relu{};
  return (v + w) | conv2d_transposed{.filters = 3, .kernel = 2, .bias = false} | relu{} | dense{.units = 7}
         | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

/// Layers whose kernels support both orders of images: a sum of three, a concatenation, pools, a norm,
/// activations, masks; then shape layers.
inline constexpr auto many_layers = network<[](builder& net) {
  tensor const x = net.input({3, 9, 8}) | conv2d{.filters = 5, .kernel = 2};
  tensor const y = x | conv2d{.filters = 5, .kernel = 3, .padding = padding::same} | sigmoid{};
  tensor const z = x | spatial_dropout{.rate = 0.3} | swish{};
  tensor const joined =
      concat(join(add{}, x, y, z), x, z | conv2d{.filters = 2, .kernel = 1} | dropout{.rate = 0.3})
      | max_pool{.window = 2, .stride = 1} | avg_pool{.window = {3, 2}, .stride = {2, 1}}
      | conv2d_transposed{.filters = 4, .kernel = 2} | batch_norm{} | upsampling{.factor = 2};
  tensor const largest = joined | global_max_pool{};
  tensor const rows = joined | conv2d{.filters = 6, .kernel = 3, .stride = 2, .groups = 2} | flatten{}
                      | dense{.units = 4} | reshape{.extents = shape{2, 1, 2}} | global_avg_pool{};
  return concat(largest, rows) | dense{.units = 3} | softmax_cross_entropy{};
}>();

/// Norms over a whole batch and over examples, and random layers.
inline constexpr auto varied = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 5, .kernel = 3} | synchronised_batch_norm{} | prelu{}
         | spatial_dropout{.rate = 0.2} | lrn{.alpha = 0.1} | upsampling{.factor = {2, 1}}
         | conv2d{.filters = 4, .kernel = 3, .stride = 2} | layer_norm{.axes = 3}
         | gaussian_noise{.deviation = 0.2} | prelu{.per_channel = false} | dense{.units = 6}
         | synchronised_batch_norm{.epsilon = 0.1} | dense{.units = 3} | softmax_cross_entropy{};
}>();

/// Vectors of indices.
inline std::vector<named_network> networks() {
  std::vector<named_network> all;
  all.push_back({"dense", graph::build([](builder& net) {
                   return net.input({7}) | dense{.units = 5} | dense{.units = 3, .bias = false}
                          | softmax_cross_entropy{};
                 })});
  all.push_back({"rectifiers", graph::build([](builder& net) {
                   return net.input({3, 4, 5}) | dense{.units = 9} | relu{} | dense{.units = 6}
                          | leaky_relu{.slope = 0.2} | dense{.units = 4} | softmax_cross_entropy{};
                 })});
  all.push_back({"add and several readers", graph::build([](builder& net) {
                   tensor const x = net.input({6}) | dense{.units = 8};
                   tensor const y = x | relu{} | dense{.units = 8};
                   (x + y + (y | dense{.units = 8})) | dense{.units = 3}
                       | softmax_cross_entropy{.label_smoothing = 0.1, .weight = 0.5};
                 })});
  all.push_back({"dropout", graph::build([](builder& net) {
                   return net.input({30}) | dense{.units = 22} | dropout{.rate = 0.4} | dense{.units = 3}
                          | softmax_cross_entropy{};
                 })});
  all.push_back({"pools and shapes", graph::build([](builder& net) {
                   return net.input({5}) | dense{.units = 2 * 7 * 6} | reshape{.extents = shape{2, 7, 6}}
                          | max_pool{.window = 3, .stride = {2, 1}, .padding = {1, 2, 0, 1}} | relu{}
                          | max_pool{.window = 2} | flatten{} | dense{.units = 3} | softmax_cross_entropy{};
                 })});
  all.push_back({"lenet", graph(lenet)});
  all.push_back({"norms", graph(normed)});
  all.push_back({"fused", graph(fused)});
  return all;
}

template <class B>
void agrees_with_the_reference() {
  for (named_network const& one : networks()) {
    SCOPED_TRACE(one.name);
    for (int batch : {1, 3, 16}) {
      trial<B> got(one.net, {.batch = batch});
      trial<reference<double>> wanted(one.net, {.batch = batch});
      double const loss = wanted.step();
      EXPECT_NEAR(got.step(), loss, 2e-5 * std::max(1.0, loss));
      for (int p = 0; p < wanted.parameters(); ++p)
        ladder::expect_close(got.gradient(p), wanted.gradient(p), {2e-5, 2e-5},
                             "gradient of " + wanted.parameter(p).name);
      trial<B> inferred(one.net, {.batch = batch, .training = false});
      trial<reference<double>> outputs(one.net, {.batch = batch, .training = false});
      inferred.forward();
      outputs.forward();
      ladder::expect_close(inferred.output(0), outputs.output(0), {2e-5, 2e-5}, "output");
    }
  }
}

template <class B>
void layers_of_images_agree_with_the_reference() {
  trial<B> got(graph(many_layers), {.batch = 4});
  trial<reference<double>> wanted(graph(many_layers), {.batch = 4});
  EXPECT_NEAR(got.step(), wanted.step(), 2e-5);
  for (int p = 0; p < wanted.parameters(); ++p)
    ladder::expect_close(got.gradient(p), wanted.gradient(p), {2e-5, 2e-5},
                         "gradient of " + wanted.parameter(p).name);
}

/// Steps that would be rounded away in bf16 parameters accumulate in f32 parameters.
template <class B>
void accumulates_small_steps() {
  bright_thirds const examples(64);
  training made = trainer<B>(normed, {.optimizer = {sgd{.learning_rate = 1e-5}}});
  std::vector<float> const before = parameters_of<float>(made);
  made.fit(examples.data(), {.batch = 16, .epochs = 5});
  std::vector<float> const after = parameters_of<float>(made);
  std::size_t by_little = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    double const step = std::abs(double{after[i]} - double{before[i]});
    by_little += step > 0 && step < 0x1p-9 * std::abs(double{before[i]});
  }
  EXPECT_GT(by_little, before.size() / 4);
}

inline constexpr auto mlp = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 20} | relu{} | dropout{.rate = 0.2} | dense{.units = 10}
         | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

/// bright_thirds with larger images.
struct large_thirds {
  static constexpr int side = 28;
  std::vector<float> pixels;
  bright_thirds small;

  explicit large_thirds(int count) : small(count) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n)
      for (int p = 0; p < side * side; ++p)
        pixels.push_back(
            small.pixels[n * 64 + static_cast<std::size_t>(p / side * 8 / side * 8 + p % side * 8 / side)]);
  }
  dataset data() const {
    return arrays(std::span<float const>(pixels), shape{1, side, side},
                  std::span<std::int32_t const>(small.labels), 10);
  }
};

template <class B>
std::vector<float> trained(graph const& net, dataset const& examples, training_settings const& settings,
                           fit_settings const& how) {
  training made = trainer<B>(net, settings);
  made.fit(examples, how);
  return parameters_of<float>(made);
}

template <class B>
void trains_alike(graph const& net, dataset const& examples, training_settings const& settings,
                  fit_settings const& how) {
  SCOPED_TRACE(std::to_string(settings.workers) + " workers, " + std::to_string(how.accumulate) + " pieces");
  std::vector<float> const got = trained<B>(net, examples, settings, how),
                           wanted = trained<reference<float>>(net, examples, settings, how);
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-4) << i;
}

template <class B>
void trains_like_the_reference() {
  bright_thirds const examples(57);
  large_thirds const large(40);
  for (auto const& [workers, pieces] : {std::pair{1, 1}, {1, 3}, {3, 1}}) {
    trains_alike<B>(mlp, examples.data(),
                    {.optimizer = {.rule = adam{.learning_rate = 0.01},
                                   .l2 = 1e-4,
                                   .normalisation = normalise::clip_global_norm{1}},
                     .seed = 5,
                     .workers = workers},
                    {.batch = 10, .epochs = 3, .accumulate = pieces});
    trains_alike<B>(
        lenet, large.data(),
        {.optimizer = {.rule = nesterov{.learning_rate = 0.02}, .l2 = 5e-4}, .seed = 5, .workers = workers},
        {.batch = 10, .epochs = 1, .accumulate = pieces});
    trains_alike<B>(
        normed, examples.data(),
        {.optimizer = {.rule = nesterov{.learning_rate = 0.02}, .l2 = 5e-4}, .seed = 5, .workers = workers},
        {.batch = 12, .epochs = 2, .accumulate = pieces});
    trains_alike<B>(varied, examples.data(),
                    {.optimizer = {nesterov{.learning_rate = 0.02}}, .seed = 5, .workers = workers},
                    {.batch = 12, .epochs = 2, .accumulate = pieces});
  }
}

template <class B>
void compares_gradients(trial<B>& got, trial<reference<double>>& wanted) {
  for (int p = 0; p < wanted.parameters(); ++p)
    if (!wanted.parameter(p).frozen)
      ladder::expect_close(got.gradient(p), wanted.gradient(p), {2e-5, 2e-5},
                           "gradient of " + wanted.parameter(p).name);
}

/// Examples have different weights, and their indices in the data set key the random layers.
template <class B>
void weighs_examples_and_draws_masks_like_the_reference() {
  std::vector<float> const weights{0.5F, 0, 3, 1, 1, 0.25F, 2};
  std::vector<std::int64_t> const indices{12, 5'000'000'000, 7, 0, 3, 99, 4};
  auto const step = [&](auto&& made) {
    made.run->forward({.inputs = made.batch.input_views,
                       .targets = made.batch.target_views,
                       .weights = weights,
                       .indices = indices,
                       .seed = 9,
                       .step = 4});
    made.run->backward({.gradient_scale = 1 / 7.75});
    return made.run->loss();
  };
  std::vector<named_network> all;
  for (operations::row const& r : operations::losses)
    if (cudnn_ladder::has_kernels_for<B>(r)) all.push_back({r.name, operations::network_of(r, 1, true)});
  all.push_back({"varied", graph(varied)});
  for (named_network const& one : all) {
    SCOPED_TRACE(one.name);
    trial<B> got(one.net, {.batch = 7});
    trial<reference<double>> wanted(one.net, {.batch = 7});
    double const loss = step(wanted);
    EXPECT_NEAR(step(got), loss, 2e-5 * std::max(1.0, loss));
    compares_gradients(got, wanted);
  }
}

/// One context receives classes and distributions, with and without weights and numbers of examples, three
/// times each.
template <class B>
void steps_with_different_settings_agree_with_the_reference() {
  graph const net = graph::build([](builder& b) {
    return b.input({6}) | dense{.units = 5, .bias = false} | batch_norm{} | relu{} | dropout{.rate = 0.3}
           | dense{.units = 3} | softmax_cross_entropy{};
  });
  trial<B> got(net, {.batch = 4});
  trial<reference<double>> wanted(net, {.batch = 4});
  std::vector<float> const weights{0.5F, 0, 3, 1}, shares{0.5F, 0.5F, 0, 1, 0, 0, 0, 0, 1, 0.2F, 0.3F, 0.5F};
  std::vector<std::int32_t> const classes{2, 0, 1, 1};
  std::vector<std::int64_t> const indices{12, 5'000'000'000, 7, 0};
  std::vector<tensor_view> const forms{{classes.data(), {4}}, {shares.data(), {4, 3}}};
  std::int64_t step = 0;
  for (int form : {0, 1, 2, 3, 4, 5, 6, 7, 0})
    for (int time = 0; time < 3; ++time, ++step) {
      auto const take = [&](auto& made) {
        made.run->forward(
            {.inputs = made.batch.input_views,
             .targets = {&forms[static_cast<std::size_t>(form % 2)], 1},
             .weights = form & 2 ? std::span<float const>(weights) : std::span<float const>(),
             .indices = form & 4 ? std::span<std::int64_t const>(indices) : std::span<std::int64_t const>(),
             .seed = 9,
             .step = step});
        made.run->backward({.gradient_scale = 1 / (1.0 + form)});
        return made.run->loss();
      };
      SCOPED_TRACE("form " + std::to_string(form) + ", time " + std::to_string(time));
      double const loss = take(wanted);
      EXPECT_NEAR(take(got), loss, 2e-5 * std::max(1.0, loss));
      compares_gradients(got, wanted);
    }
}

/// An index outside the vocabulary is reported as on the processor, in training and in prediction.
template <class B>
void refuses_an_index_like_the_reference() {
  auto const said = [](auto made, float index) -> std::string {
    std::vector<typename decltype(made)::T>& indices = made.batch.inputs[0];
    for (auto& one : indices) one = 2;
    indices[5] = static_cast<typename decltype(made)::T>(index);
    try {
      made.forward();
      return "";
    } catch (data_error const& why) {
      return why.what();
    }
  };
  graph const net = graph::build([](builder& b) {
    return b.input({2, 2}) | embedding{.vocabulary = 3, .width = 2} | dense{.units = 2}
           | softmax_cross_entropy{};
  });
  for (bool const training : {true, false})
    for (float const index : {2.F, 3.F, -1.F, 0.5F, 1e30F, std::numeric_limits<float>::quiet_NaN()}) {
      plan_settings const settings{.batch = 3, .training = training};
      std::string const found = said(trial<B>(net, settings), index);
      EXPECT_EQ(found, said(trial<reference<float>>(net, settings), index));
      EXPECT_EQ(found.empty(), index == 2);
    }
}

/// Frozen layers run as at inference, so their statistics are constants in backward.
template <class B>
void freezes_like_the_reference() {
  auto const freezes = [](graph const& net, std::vector<std::string> const& frozen) {
    SCOPED_TRACE(frozen[0] + " is frozen");
    trial<B> got(net, {.batch = 5}, 1, {}, frozen);
    trial<reference<double>> wanted(net, {.batch = 5}, 1, {}, frozen);
    EXPECT_NEAR(got.step(), wanted.step(), 2e-5);
    compares_gradients(got, wanted);
  };
  freezes(normed, {"batch_norm_2", "conv2d_2"});
  freezes(normed, {"conv2d_1", "batch_norm_1"});
  freezes(normed, {"batch_norm_3"});
  freezes(fused, {"batch_norm_1"});
  freezes(fused, {"batch_norm_2"});
  freezes(fused, {"conv2d_1", "batch_norm_3"});
  freezes(varied, {"synchronised_batch_norm_1", "prelu_2"});
  freezes(varied, {"prelu_1", "layer_norm_1", "synchronised_batch_norm_2"});
}

template <class B>
void learns() {
  bright_thirds const examples(300), held(90, 2);
  for (graph const& net : {graph(mlp), graph(normed), graph(varied)}) {
    training made = trainer<B>(net, {.optimizer = {adam{.learning_rate = 0.01}}, .seed = 7});
    made.fit(examples.data(), {.batch = 16, .epochs = 5});
    EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.95);
  }
}

}  // namespace cudnn_cases
