// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requirements on recomputation, for any backend.
#include <gtest/gtest.h>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "trial.hpp"

namespace recomputation_cases {

using namespace cohort;

/// Residual blocks. A backend may run their norms, sums and rectifiers in one kernel.
inline graph residual(int channels = 16) {
  return graph::build([&](builder& b) {
    auto const conv = [&](int kernel, int stride = 1) {
      return [=](tensor x) {
        return x
               | conv2d{.filters = channels,
                        .kernel = kernel,
                        .stride = stride,
                        .padding = kernel / 2,
                        .bias = false}
               | batch_norm{};
      };
    };
    tensor x = b.input({3, 16, 16}) | conv(3) | relu{} | max_pool{.window = 2};
    for (int stage = 0; stage < 2; ++stage)
      for (int block = 0; block < 3; ++block) {
        int const stride = stage > 0 && block == 0 ? 2 : 1;
        tensor const body = x | conv(1) | relu{} | conv(3, stride) | leaky_relu{.slope = 0.1} | conv(1);
        x = (body + (block == 0 ? x | conv(1, stride) : x)) | relu{};
      }
    x | global_avg_pool{} | dense{.units = 5} | softmax_cross_entropy{};
  });
}

/// Masks, workspaces, values with several consumers, joins and shared parameters.
inline graph varied() {
  return graph::build([](builder& b) {
    tensor const x = b.input({3, 12, 12}) | conv2d{.filters = 8, .kernel = 3, .name = "stem_conv"}
                     | batch_norm{.name = "stem_norm"} | elu{.name = "stem_elu"};
    tensor const y = x | lrn{} | dropout{.rate = 0.3} | avg_pool{.window = 2}
                     | conv2d{.filters = 8, .kernel = 3, .padding = 1, .name = "one"} | gelu{};
    tensor const z = x | max_pool{.window = 2} | swish{} | gaussian_noise{}
                     | conv2d{.filters = 8, .kernel = 3, .padding = 1, .settings = {.shares = "one"}}
                     | tanh_activation{};
    concat(y + z, z, y) | layer_norm{.axes = 3} | relu{} | dropout{} | dense{.units = 12} | batch_norm{}
        | relu{} | dense{.units = 5} | softmax_cross_entropy{};
  });
}

/// Twelve random layers or joins; each may read any earlier value. They are named "a_0" to "c_11", four per
/// letter.
inline graph random_net(std::uint64_t seed) {
  return graph::build([&](builder& b) {
    random_stream const chance(seed, "recomputation");
    std::uint64_t drawn = 0;
    auto const draw = [&](std::size_t bound) {
      return static_cast<std::size_t>(chance.below(drawn++, static_cast<std::uint64_t>(bound)));
    };
    std::vector<tensor> made{b.input({4, 6, 6})
                             | conv2d{.filters = 4, .kernel = 3, .padding = 1, .name = "a_stem"}};
    for (int i = 0; i < 12; ++i) {
      std::string const name = std::string(1, "abc"[i / 4]) + '_' + std::to_string(i);
      tensor const x = draw(3) == 0 ? made[draw(made.size())] : made.back();
      tensor const other = made[draw(made.size())];
      auto const next = [&]() -> tensor {
        switch (draw(10)) {
          case 0:
            return x | conv2d{.filters = 4, .kernel = 3, .padding = 1, .name = name};
          case 1:
            return x | batch_norm{.name = name};
          case 2:
            return x | relu{.name = name};
          case 3:
            return x | gelu{.name = name};
          case 4:
            return x | dropout{.rate = 0.2, .name = name};
          case 5:
            return x + other;
          case 6:
            return x | tanh_activation{.name = name};
          case 7:
            return x | max_pool{.window = 3, .stride = 1, .padding = 1, .name = name};
          case 8:
            return concat(x, other) | conv2d{.filters = 4, .kernel = 1, .name = name};
          default:
            return x | leaky_relu{.name = name};
        }
      };
      made.push_back(next());
    }
    made.back() | dense{.units = 3} | softmax_cross_entropy{};
  });
}

/// Loss and gradients have the same bits with and without recomputation, also with accumulated gradients.
template <class B>
recomputation_cost expect_the_same_bits(graph_view net, recomputation const& how, int batch = 3) {
  trial<B> kept(net, {.batch = batch}), remade(net, {.batch = batch, .recompute = how});
  for (bool const accumulate : {false, true}) {
    EXPECT_EQ(kept.step(accumulate), remade.step(accumulate));
    EXPECT_EQ(kept.all_gradients(), remade.all_gradients());
  }
  return remade.plan->recomputed();
}

template <class B>
std::size_t activations(graph_view net, recomputation const& how, int batch = 8) {
  return trial<B>(net, {.batch = batch, .recompute = how}).plan->memory().activations;
}

template <class B>
void changes_no_bit() {
  for (graph const& net : {residual(), varied()}) {
    int const cheap = expect_the_same_bits<B>(net, {.cheap = true}).kernels;
    EXPECT_GT(cheap, 5);
    EXPECT_GT(expect_the_same_bits<B>(net, {.blocks = {"*"}}).kernels, cheap);
    EXPECT_GT(expect_the_same_bits<B>(net, {.cheap = true, .blocks = {"conv2d_*", "batch_norm_*"}}).kernels,
              0);
  }
}

template <class B>
void changes_no_bit_of_drawn_networks(int count) {
  int kernels = 0;
  for (int seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(seed);
    graph const net = random_net(static_cast<std::uint64_t>(seed));
    kernels += expect_the_same_bits<B>(net, {.cheap = true}).kernels;
    kernels += expect_the_same_bits<B>(net, {.blocks = {"*"}}).kernels;
    kernels += expect_the_same_bits<B>(net, {.cheap = true, .blocks = {"a_*"}}).kernels;
  }
  EXPECT_GT(kernels, 3 * count);
}

}  // namespace recomputation_cases
