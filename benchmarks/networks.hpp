// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/embedding.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <map>
#include <optional>
#include <string_view>

#include "trained_network.hpp"

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

/// The CIFAR-10 network of SKIL, without dropout: 18.8 million parameters.
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

/// Darknet blocks on images of 64×64 pixels and 200 classes.
constexpr auto darknet = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  auto const block = [](int kernel, int filters) {
    return [=](tensor x) {
      return x | conv2d{.filters = filters, .kernel = kernel, .padding = padding::same, .bias = false}
             | batch_norm{} | leaky_relu{.slope = 0.1};
    };
  };
  max_pool const half{.window = 2};
  return net.input({3, 64, 64}) | block(3, 32) | block(3, 64) | half | block(2, 128) | block(2, 256) | half
         | block(2, 256) | block(2, 512) | half | conv2d{.filters = 200, .kernel = 1} | global_avg_pool{}
         | softmax_cross_entropy{};
}>();
static_assert(darknet.parameter_count() == 1'074'664);

/// The network of He, Zhang, Ren and Sun, CVPR 2016, with the stride in the 3×3 convolution. Built at run
/// time, because a constexpr network of this size takes long to compile.
inline cohort::graph_view resnet50() {
  using namespace cohort;
  static graph const made = graph::build([](builder& net) {
    auto const conv = [](int filters, int kernel, int stride) {
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
    tensor x =
        net.input({3, 224, 224}) | conv(64, 7, 2) | relu{} | max_pool{.window = 3, .stride = 2, .padding = 1};
    int stage = 0;
    for (int const blocks : {3, 4, 6, 3}) {
      int const filters = 64 << stage;
      for (int block = 0; block < blocks; ++block) {
        int const stride = stage > 0 && block == 0 ? 2 : 1;
        tensor const body =
            x | conv(filters, 1, 1) | relu{} | conv(filters, 3, stride) | relu{} | conv(4 * filters, 1, 1);
        x = (body + (block == 0 ? x | conv(4 * filters, 1, stride) : x)) | relu{};
      }
      ++stage;
    }
    x | global_avg_pool{} | dense{.units = 1000} | softmax_cross_entropy{};
  });
  return made;
}

// Recurrent networks.

/// Classifies series of 60 steps into six classes.
constexpr auto uci = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({60, 1}) | lstm{.units = 128, .last_step = true} | dense{.units = 6}
         | softmax_cross_entropy{};
}>();

/// Two recurrent layers that predict the next of 65 characters at each of 100 steps. The initial values have
/// the distributions of PyTorch's layers.
template <class Layer>
constexpr auto characters = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  constexpr init::uniform drawn{1.0 / 16};  // 1 / √256
  Layer layer{.units = 256, .settings = {.weights = drawn, .bias = drawn, .recurrent = drawn}};
  if constexpr (requires { layer.forget_bias; }) layer.forget_bias = 0;
  return net.input({100})
         | embedding{.vocabulary = 65, .width = 256, .settings = {.weights = init::normal{.deviation = 1}}}
         | layer | layer | dense{.units = 65, .settings = {.weights = drawn, .bias = drawn}}
         | softmax_cross_entropy{};
}>();

/// Extents of a transformer that predicts the next token after each step.
struct transformer_extents {
  std::string_view name;
  int blocks, heads, units, steps, vocabulary;
};
/// Settings of nanoGPT for a processor and for characters on a GPU, and of GPT-2 with llm.c's sequence
/// length.
inline constexpr transformer_extents transformers[]{{"gpt_small", 4, 4, 128, 64, 65},
                                                    {"gpt_baby", 6, 6, 384, 256, 65},
                                                    {"gpt2_124m", 12, 12, 768, 64, 50257}};

/// The output layer shares the weights of the embedding.
inline cohort::graph_view transformer(transformer_extents const& e) {
  using namespace cohort;
  static std::map<std::string_view, graph> made;
  if (auto const found = made.find(e.name); found != made.end()) return found->second;
  layer_settings const drawn{.weights = init::normal{.deviation = 0.02}};
  auto const to = [&](int units) { return dense{.units = units, .settings = drawn}; };
  // clang-format off
  return made.emplace(e.name, graph::build([&](builder& net) {
    tensor x = net.input({e.steps})
               | embedding{.vocabulary = e.vocabulary, .width = e.units, .settings = drawn, .name = "tokens"}
               | learned_positions{.settings = drawn};
    for (int block = 0; block < e.blocks; ++block) {
      x = x + (x | layer_norm{} | to(3 * e.units) | attention{.heads = e.heads, .causal = true} | to(e.units));
      x = x + (x | layer_norm{} | to(4 * e.units) | gelu_tanh{} | to(e.units));
    }
    return x | layer_norm{}
           | dense{.units = e.vocabulary, .bias = false, .settings = {.shares = "tokens"}}
           | softmax_cross_entropy{};
  })).first->second;
  // clang-format on
}

/// A learning rate that keeps the network near its initialisation. With a larger rate, the network overfits
/// the single batch. Weights and gradients then become denormal numbers, which make kernels 10 times slower.
constexpr double standstill = 1e-6;

/// Returns a network by its name. pytorch_step.py trains the same networks.
inline std::optional<trained_network> find_network(std::string_view name) {
  if (name == "lenet")
    return trained_network{name, lenet, cohort::adagrad{.learning_rate = standstill}, 5e-4};
  if (name == "mlp") return trained_network{name, mlp, cohort::nesterov{.learning_rate = standstill}, 0};
  if (name == "darknet")
    return trained_network{name, darknet, cohort::amsgrad{.learning_rate = standstill}, 1e-4};
  if (name == "resnet50")
    return trained_network{name, resnet50(), cohort::momentum{.learning_rate = standstill, .momentum = 0.9},
                           1e-4};
  if (name == "uci") return trained_network{name, uci, cohort::adam{.learning_rate = standstill}, 0};
  if (name == "char_lstm")
    return trained_network{name, characters<cohort::lstm>, cohort::adam{.learning_rate = standstill}, 0};
  if (name == "char_gru")
    return trained_network{name, characters<cohort::gru>, cohort::adam{.learning_rate = standstill}, 0};
  for (transformer_extents const& one : transformers)
    if (name == one.name)
      return trained_network{name, transformer(one), cohort::adam{.learning_rate = standstill}, 0};
  if (name == "cifar") return trained_network{name, cifar, cohort::adam{.learning_rate = standstill}, 0};
  return std::nullopt;
}

}  // namespace benchmarks
