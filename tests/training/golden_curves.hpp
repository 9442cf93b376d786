// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/training/trainer.hpp>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

/// Small versions of the reference networks, and their loss curves in PyTorch in double precision
/// (golden/curves.py).
namespace golden_curves {

using namespace cohort;

inline constexpr auto lenet = network<[](builder& net) {
  return net.input({1, 28, 28}) | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
         | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
         | dense{.units = 200} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();
inline training_settings const lenet_settings{
    .optimizer = {.rule = adagrad{.learning_rate = 0.02}, .l2 = 5e-4}};

inline constexpr auto mlp = network<[](builder& net) {
  return net.input({1, 28, 28}) | dense{.units = 500} | leaky_relu{} | dense{.units = 100} | leaky_relu{}
         | dense{.units = 10} | softmax_cross_entropy{};
}>();
inline training_settings const mlp_settings{
    .optimizer = {.rule = nesterov{.learning_rate = 0.02, .momentum = 0.9}, .l2 = 1e-4}};

inline constexpr auto cifar = network<[](builder& net) {
  auto const same = [](int filters, int kernel) {
    return [=](tensor x) {
      return x | conv2d{.filters = filters, .kernel = kernel, .padding = padding::same} | relu{};
    };
  };
  return net.input({3, 16, 16}) | same(8, 4) | same(8, 4) | max_pool{.window = 2} | same(12, 4) | same(12, 4)
         | same(16, 3) | same(16, 3) | same(32, 2) | same(32, 2) | max_pool{.window = 2} | dense{.units = 32}
         | relu{} | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();
inline training_settings const cifar_settings{.optimizer = {adam{.learning_rate = 1e-3}}};

inline constexpr auto darknet = network<[](builder& net) {
  auto const block = [](int filters, int kernel) {
    return [=](tensor x) {
      return x | conv2d{.filters = filters, .kernel = kernel, .padding = padding::same, .bias = false}
             | batch_norm{} | leaky_relu{.slope = 0.1};
    };
  };
  return net.input({3, 16, 16}) | block(8, 3) | block(16, 3) | max_pool{.window = 2} | block(16, 2)
         | block(32, 2) | max_pool{.window = 2} | conv2d{.filters = 10, .kernel = 1} | global_avg_pool{}
         | softmax_cross_entropy{};
}>();
inline training_settings const darknet_settings{
    .optimizer = {.rule = amsgrad{.learning_rate = 8e-3}, .l2 = 1e-4}};

inline constexpr auto resnet = network<[](builder& net) {
  auto const conv = [](int filters, int kernel, int stride = 1) {
    return [=](tensor x) {
      return x
             | conv2d{.filters = filters,
                      .kernel = kernel,
                      .stride = stride,
                      .padding = kernel / 2,
                      .bias = false}
             | batch_norm{};
    };
  };
  auto const bottleneck = [&](int width, int stride, bool projects) {
    return [=](tensor x) {
      tensor const y = x | conv(width, 1) | relu{} | conv(width, 3, stride) | relu{} | conv(4 * width, 1);
      return (y + (projects ? x | conv(4 * width, 1, stride) : x)) | relu{};
    };
  };
  return net.input({3, 16, 16}) | conv(8, 3) | relu{} | bottleneck(4, 1, true) | bottleneck(4, 1, false)
         | bottleneck(8, 2, true) | global_avg_pool{} | dense{.units = 10} | softmax_cross_entropy{};
}>();
inline training_settings const resnet_settings{
    .optimizer = {.rule = momentum{.learning_rate = 0.05, .momentum = 0.9}, .l2 = 1e-4}};

inline constexpr int batch_size = 8, batches = 5;

/// The numbers that golden/curves.py generates: 16 bits of a hash of the tensor's and the element's index.
inline std::uint32_t hashed(std::uint32_t tensor, std::size_t element) {
  std::uint32_t x = static_cast<std::uint32_t>(element) * 0x9E3779B1U + tensor * 0x85EBCA6BU;
  for (int round = 0; round < 2; ++round) x = (x ^ (x >> 15)) * 0x2C1B3C6DU;
  return (x ^ (x >> 16)) & 0xFFFFU;
}
inline double drawn(std::uint32_t tensor, std::size_t element) {
  return hashed(tensor, element) / 65536.0 - 0.5;
}

/// All parameters except those of norms; the parameters of norms start at 1 and 0.
template <class T>
void draw_parameters(parameter_set& all) {
  std::vector<T> values;
  std::uint32_t number = 1;
  for (int p = 0; p < static_cast<int>(all.table().size()); ++p) {
    parameter_spec const& spec = all.table()[static_cast<std::size_t>(p)].spec;
    if (spec.dims.rank == 1 && spec.name != "bias") continue;
    ++number;
    int const fan_in = spec.dims.rank > 1 ? static_cast<int>(spec.dims.example().elements()) : 256;
    double const scale = 2 / std::floor(std::sqrt(fan_in));  // 1/8 for biases
    values.resize(static_cast<std::size_t>(spec.dims.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(drawn(number, i) * scale);
    all.write(p, reinterpret_cast<std::byte const*>(values.data()), all.master());
  }
  all.mark_changed();
}

struct recording final : listener {
  std::vector<double> losses;
  void on_step(training&, step_report const& done) override { losses.push_back(done.loss); }
};

template <class B>
std::vector<double> curve(graph const& net, training_settings const& settings, int epochs) {
  shape const image = net.view()[0].output;
  std::vector<float> images(static_cast<std::size_t>(batches * batch_size * image.elements()));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batches * batch_size));
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(drawn(0, i) + 0.5);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(hashed(1, i) % 10);
  training run = trainer<B>(net, settings);
  draw_parameters<typename B::scalar>(run.parameters());
  recording seen;
  run.fit(arrays(images, image, labels, 10),
          {.batch = batch_size, .epochs = epochs, .shuffle = false, .listeners = {&seen}});
  return seen.losses;
}

inline std::vector<double> golden(std::string const& name, std::string const& from = "curves.txt") {
  std::ifstream file(COHORT_SOURCE_DIR "/tests/golden/" + from);
  for (std::string line, word; std::getline(file, line);) {
    std::istringstream words(line);
    words >> word;
    if (word != name) continue;
    std::vector<double> losses;
    for (double loss = 0; words >> loss;) losses.push_back(loss);
    return losses;
  }
  return {};
}

/// Compares the first `steps` losses. Rounding errors grow from step to step, so the last losses have the
/// largest errors.
inline void expect_curve(std::vector<double> const& got, std::string const& name, std::size_t steps,
                         double tolerance) {
  std::vector<double> const wanted = golden(name);
  ASSERT_GE(got.size(), steps);
  ASSERT_GE(wanted.size(), steps);
  for (std::size_t i = 0; i < steps; ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << name << ", step " << i;
}

/// Trains all networks on a backend, for the first `steps` steps each.
template <class B>
void expect_all(std::size_t steps, double tolerance) {
  int const epochs = static_cast<int>((steps + batches - 1) / batches);
  auto const expect = [&](graph const& net, training_settings const& settings, char const* name) {
    expect_curve(curve<B>(net, settings, epochs), name, steps, tolerance);
  };
  expect(lenet, lenet_settings, "lenet");
  expect(mlp, mlp_settings, "mlp");
  expect(cifar, cifar_settings, "cifar");
  expect(darknet, darknet_settings, "darknet");
  expect(resnet, resnet_settings, "resnet");
}

}  // namespace golden_curves
