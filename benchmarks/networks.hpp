// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/optimizer/updater.hpp>
#include <optional>
#include <string_view>

namespace benchmarks {

constexpr auto lenet = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
         | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
         | dense{.units = 200} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

constexpr auto mlp = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 500} | leaky_relu{.slope = 0.01} | dense{.units = 100}
         | leaky_relu{.slope = 0.01} | dense{.units = 10} | softmax_cross_entropy{};
}>();

/// SKIL's CIFAR-10 network without its dropout: 18.8 million parameters.
constexpr auto cifar = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  auto const same = [](int filters, int kernel) {
    return conv2d{.filters = filters, .kernel = kernel, .padding = padding::same};
  };
  return net.input({3, 32, 32}) | same(64, 4) | relu{} | same(64, 4) | relu{} | max_pool{.window = 2}
         | same(96, 4) | relu{} | same(96, 4) | relu{} | same(128, 3) | relu{} | same(128, 3) | relu{}
         | same(256, 2) | relu{} | same(256, 2) | relu{} | max_pool{.window = 2} | dense{.units = 1024}
         | relu{} | dense{.units = 1024} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();
static_assert(cifar.parameter_count() == 18'804'810);

/// So small a rate that the network stays as it was initialised: it would learn the one batch by heart, and
/// fading weights and gradients become denormal numbers, with which a kernel takes ten times as long.
constexpr double standstill = 1e-6;

/// A network as it is trained where it is measured; pytorch_step.py trains the same.
struct trained_network {
  std::string_view name;
  cohort::graph_view net;
  cohort::updater updater;
  double l2 = 0;
};

inline std::optional<trained_network> find_network(std::string_view name) {
  if (name == "lenet") return trained_network{name, lenet, cohort::adagrad{.rate = standstill}, 5e-4};
  if (name == "mlp") return trained_network{name, mlp, cohort::nesterov{.rate = standstill}, 0};
  if (name == "cifar") return trained_network{name, cifar, cohort::adam{.rate = standstill}, 0};
  return std::nullopt;
}

}  // namespace benchmarks
