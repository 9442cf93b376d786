// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/trainer/trainer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../backend/ladder.hpp"
#include "../../trainer/bright_thirds.hpp"

/// What a GPU must hold to, pretended or not: networks of the layers that cudnn has kernels for.
namespace cudnn_cases {

using namespace cohort;
using cohort_test::bright_thirds;

struct named_network {
  char const* name;
  graph net;
};

inline std::vector<named_network> networks() {
  std::vector<named_network> all;
  all.push_back({"dense", graph::build([](builder& net) {
                   net.input({7}) | dense{.units = 5} | dense{.units = 3, .bias = false}
                       | softmax_cross_entropy{};
                 })});
  all.push_back({"rectifiers", graph::build([](builder& net) {
                   net.input({3, 4, 5}) | dense{.units = 9} | relu{} | dense{.units = 6}
                       | leaky_relu{.slope = 0.2} | dense{.units = 4} | softmax_cross_entropy{};
                 })});
  all.push_back({"add and several readers", graph::build([](builder& net) {
                   tensor const x = net.input({6}) | dense{.units = 8};
                   tensor const y = x | relu{} | dense{.units = 8};
                   (x + y + (y | dense{.units = 8})) | dense{.units = 3}
                       | softmax_cross_entropy{.label_smoothing = 0.1, .weight = 0.5};
                 })});
  all.push_back({"dropout", graph::build([](builder& net) {
                   net.input({30}) | dense{.units = 22} | dropout{.rate = 0.4} | dense{.units = 3}
                       | softmax_cross_entropy{};
                 })});
  all.push_back({"pools and shapes", graph::build([](builder& net) {
                   net.input({5}) | dense{.units = 2 * 7 * 6} | reshape{.extents = shape{2, 7, 6}}
                       | max_pool{.window = 3, .stride = {2, 1}, .padding = {1, 2, 0, 1}} | relu{}
                       | max_pool{.window = 2} | flatten{} | dense{.units = 3} | softmax_cross_entropy{};
                 })});
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

inline constexpr auto mlp = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 20} | relu{} | dropout{.rate = 0.2} | dense{.units = 10}
         | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

template <class B>
std::vector<float> trained(training_settings const& settings, int pieces = 1) {
  bright_thirds const examples(57);
  training made = trainer<B>(mlp, settings);
  made.fit(examples.data(), {.batch = 10, .epochs = 3, .accumulate = pieces});
  std::vector<float> parameters(static_cast<std::size_t>(made.parameters().elements()));
  made.parameters().read_all(made.parameters().master(), reinterpret_cast<std::byte*>(parameters.data()));
  return parameters;
}

template <class B>
void trains_as_the_reference_does() {
  for (auto const& [workers, pieces] : {std::pair{1, 1}, {1, 3}, {3, 1}}) {
    training_settings const settings{.updater = adam{.rate = 0.01},
                                     .l2 = 1e-4,
                                     .normalisation = normalise::clip_global_norm{1},
                                     .seed = 5,
                                     .workers = workers};
    std::vector<float> const got = trained<B>(settings, pieces),
                             wanted = trained<reference<float>>(settings, pieces);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], 1e-4) << i << ", " << workers << " workers, " << pieces << " pieces";
  }
}

template <class B>
void learns() {
  bright_thirds const examples(300), held(90, 2);
  training made = trainer<B>(mlp, {.updater = adam{.rate = 0.01}, .seed = 7});
  made.fit(examples.data(), {.batch = 16, .epochs = 5});
  EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.95);
}

}  // namespace cudnn_cases
