// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/layers.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "trial.hpp"

/// Networks whose layers are folded, or must not be.
namespace folding_cases {

using namespace cohort;

inline graph convolution_and_norm() {
  return graph::build([](builder& net) {
    return net.input({2, 7, 7}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{}
           | max_pool{.window = 2} | dense{.units = 3} | softmax_cross_entropy{};
  });
}

/// Calls visit(name, network, steps) for every case. `steps`: the network's steps on a backend that fuses
/// nothing.
template <class Visit>
void each_case(Visit visit) {
  visit("a norm behind a convolution", convolution_and_norm(),
        "conv2d_1 + batch_norm_1; max_pool_1; relu_1; dense_1; softmax_cross_entropy_1; ");
  visit("no bias of its own", graph::build([](builder& net) {
          return net.input({3, 6, 6}) | conv2d{.filters = 5, .kernel = 3, .bias = false}
                 | batch_norm{.epsilon = 0.1} | leaky_relu{.slope = 0.1}
                 | conv2d{.filters = 16, .kernel = 1, .bias = false} | batch_norm{} | softmax{};
        }),
        "conv2d_1 + batch_norm_1; leaky_relu_1; conv2d_2 + batch_norm_2; softmax_1; ");
  visit("a norm behind a dense layer", graph::build([](builder& net) {
          return net.input({2, 3, 3}) | dense{.units = 6} | batch_norm{} | relu{}
                 | dense{.units = 4, .bias = false} | synchronised_batch_norm{} | mean_squared_error{};
        }),
        "dense_1 + batch_norm_1; relu_1; dense_2 + synchronised_batch_norm_1; mean_squared_error_1; ");
  visit("several layers one behind the other", graph::build([](builder& net) {
          return net.input({2, 6, 6}) | conv2d{.filters = 4, .kernel = 3} | scale{.factor = 0.5}
                 | batch_norm{} | scale{.factor = 2, .learned = true} | tanh_activation{} | dense{.units = 2}
                 | softmax_cross_entropy{};
        }),
        "conv2d_1 + scale_1 + batch_norm_1 + scale_2; tanh_1; dense_1; softmax_cross_entropy_1; ");
  visit("groups, strides and other convolutions", graph::build([](builder& net) {
          return net.input({4, 9, 9})
                 | conv2d{.filters = 8, .kernel = 3, .stride = 2, .padding = 1, .groups = 4} | batch_norm{}
                 | conv2d_transposed{.filters = 3, .kernel = 2, .stride = 2} | batch_norm{} | relu{}
                 | softmax{};
        }),
        "conv2d_1 + batch_norm_1; conv2d_transposed_1 + batch_norm_2; relu_1; softmax_1; ");
  visit("a sequence", graph::build([](builder& net) {
          return net.input({12, 3}) | conv1d{.filters = 4, .kernel = 3} | batch_norm{} | relu{} | softmax{};
        }),
        "conv1d_1 + batch_norm_1; relu_1; softmax_1; ");
  visit("a norm that two read", graph::build([](builder& net) {
          tensor const x = net.input({2, 5, 5}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{};
          concat(x | relu{}, x | conv2d{.filters = 3, .kernel = 1}) | softmax{};
        }),
        "conv2d_1 + batch_norm_1; relu_1; conv2d_2; concatenate_1; softmax_1; ");
  visit("a convolution that two read", graph::build([](builder& net) {
          tensor const x = net.input({2, 5, 5}) | conv2d{.filters = 4, .kernel = 3};
          concat(x | batch_norm{}, x | relu{}) | softmax{};
        }),
        "conv2d_1; batch_norm_1; relu_1; concatenate_1; softmax_1; ");
  visit("tied weights behind which norms differ", graph::build([](builder& net) {
          tensor const x = net.input({3, 8, 8});
          tensor const a = x | conv2d{.filters = 3, .kernel = 3, .padding = 1, .name = "tied"} | batch_norm{};
          a | relu{} | conv2d{.filters = 3, .kernel = 3, .padding = 1, .settings = {.shares = "tied"}}
              | batch_norm{} | softmax{};
        }),
        "tied + batch_norm_1; relu_1; conv2d_2 + batch_norm_2; softmax_1; ");
  visit(
      "a residual block", graph::build([](builder& net) {
        tensor const x = net.input({2, 6, 6}) | conv2d{.filters = 8, .kernel = 3, .padding = 1} | relu{};
        tensor const y = x | conv2d{.filters = 8, .kernel = 3, .padding = 1, .bias = false} | batch_norm{}
                         | relu{} | conv2d{.filters = 8, .kernel = 3, .padding = 1, .bias = false}
                         | batch_norm{};
        tensor const z = (y + x) | relu{};
        tensor const w = (z | conv2d{.filters = 8, .kernel = 1, .stride = 2} | batch_norm{})
                         + (z | conv2d{.filters = 8, .kernel = 3, .stride = 2, .padding = 1} | batch_norm{});
        w | relu{} | dense{.units = 3} | softmax_cross_entropy{};
      }),
      "conv2d_1; relu_1; conv2d_2 + batch_norm_1; relu_2; conv2d_3 + batch_norm_2; add_1; relu_3; "
      "conv2d_4 + batch_norm_3; conv2d_5 + batch_norm_4; add_2; relu_4; dense_1; softmax_cross_entropy_1; ");
  visit("a sum behind groups", graph::build([](builder& net) {
          tensor const x = net.input({6, 5, 5});
          tensor const sum = (x | conv2d{.filters = 6, .kernel = 3, .padding = 1, .groups = 2}) + x;
          sum | relu{} | dense{.units = 3} | softmax{};
        }),
        "conv2d_1; add_1; relu_1; dense_1; softmax_1; ");
  visit("sums that may not move", graph::build([](builder& net) {
          tensor const x = net.input({4, 5, 5}) | conv2d{.filters = 4, .kernel = 1};
          tensor const twice = x + x;
          tensor const three = twice + (twice | conv2d{.filters = 4, .kernel = 1}) + net.input({4, 5, 5});
          (three | dense{.units = 4}) + (twice | dense{.units = 4}) | softmax{};
        }),
        "conv2d_1; add_1; conv2d_2; add_2; add_3; dense_1; dense_2; add_4; softmax_1; ");
}

inline std::string steps_of(plan const& made) {
  std::string text;
  for (plan_row const& row : made.rows())
    if (row.implementation != "reorder") text += row.step + "; ";
  return text;
}

inline std::vector<int> every_layer(graph_view net) {
  std::vector<int> ids;
  for (int id = 0; id < net.size(); ++id)
    if (net.kind(id).role != layer_role::input) ids.push_back(id);
  return ids;
}

template <class B>
auto last_output(trial<B> const& of) {
  return of.output(static_cast<int>(of.plan->outputs().size()) - 1);
}

template <class T>
void expect_near(std::vector<T> const& got, std::vector<T> const& wanted, double off) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], off * (1 + std::abs(static_cast<double>(wanted[i])))) << i;
}

/// Running statistics other than 0 and 1.
template <class B>
void move_statistics(trial<B>& of) {
  for (int p = 0; p < of.parameters(); ++p) {
    if (is_trained(of.parameter(p).spec.role)) continue;
    bool const variance = of.parameter(p).spec.role == parameter_role::running_variance;
    auto values = of.dense(p, of.store->master());
    for (std::size_t c = 0; c < values.size(); ++c)
      values[c] = static_cast<typename B::scalar>(variance ? 0.25 + 0.375 * static_cast<double>(c % 5)
                                                           : 0.125 * static_cast<double>(c % 7) - 0.25);
    of.store->write(p, reinterpret_cast<std::byte const*>(values.data()), of.store->master());
  }
  of.store->mark_changed();
  of.store->refresh_stale();
}

/// The network's last output, with or without keeping the outputs of all layers.
template <class B>
void expect_equal_outputs(graph const& net, double off) {
  for (int batch : {1, 3}) {
    trial<B> folded(net, {.batch = batch, .training = false});
    move_statistics(folded);
    trial<B> apart(net, {.batch = batch, .training = false, .outputs = every_layer(net)}, 1, folded.store);
    folded.forward();
    apart.forward();
    expect_near(last_output(folded), last_output(apart), off);
  }
}

}  // namespace folding_cases
