// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/layer/layers.hpp>

#include <cstddef>
#include <string_view>

#include "trial.hpp"

namespace in_place_test {

using namespace cohort;
using B = reference<double>;

/// tanh without `in_place`.
struct careful {
  static constexpr std::string_view kind_name = "careful";
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    tanh_activation{}.forward(a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    tanh_activation{}.backward(a);
  }
};

constexpr int width = 1024, batch = 4;

template <class Chain>
graph between_dense_layers(Chain chain) {
  return graph::build([&](builder& b) {
    return chain(b.input({2}) | dense{.units = width, .name = "first"}) | dense{.units = 2, .name = "last"}
           | mean_squared_error{};
  });
}

/// Size of a plan's activations, in whole tensors of the chain.
template <class Chain>
std::size_t tensors(bool training, Chain chain) {
  trial<B> const t(between_dense_layers(chain), {.batch = batch, .training = training});
  return t.plan->memory().activations / (width * batch * sizeof(double));
}

TEST(in_place, elementwise_layers_need_no_additional_memory) {
  auto const none = [](tensor x) { return x; };
  auto const one = [](auto layer) { return [layer](tensor x) { return x | layer; }; };
  auto const three = [](auto layer) { return [layer](tensor x) { return x | layer | dropout{} | layer; }; };
  EXPECT_EQ(tensors(false, none), 1U);
  EXPECT_EQ(tensors(false, three(tanh_activation{})), 1U);
  EXPECT_EQ(tensors(false, one(careful{})), 2U);

  EXPECT_EQ(tensors(true, none), 2U) << "what dense layers read again, and a gradient";
  EXPECT_EQ(tensors(true, one(tanh_activation{})), 3U) << "its output is read again, its gradients are one";
  EXPECT_EQ(tensors(true, one(dropout{})), 3U);
  EXPECT_EQ(tensors(true, one(gelu{})), 4U) << "its backward reads the input";
  EXPECT_EQ(tensors(true, one(careful{})), 4U);
  EXPECT_EQ(tensors(true, three(tanh_activation{})), 5U);
}

TEST(in_place, values_with_later_consumers_are_not_overwritten) {
  auto const forked = [](auto activation) { return [activation](tensor x) { return (x | activation) + x; }; };
  for (bool training : {false, true}) {
    trial<B> in_place(between_dense_layers(forked(tanh_activation{})),
                      {.batch = batch, .training = training});
    trial<B> beside(between_dense_layers(forked(careful{})), {.batch = batch, .training = training});
    if (training) {
      EXPECT_EQ(in_place.step(), beside.step());
      EXPECT_EQ(in_place.all_gradients(), beside.all_gradients());
    } else {
      in_place.run->forward({.inputs = in_place.batch.input_views});
      beside.run->forward({.inputs = beside.batch.input_views});
      EXPECT_EQ(in_place.output(), beside.output());
    }
  }
}

TEST(in_place, a_chain_equals_the_chain_computed_out_of_place) {
  auto const chain = [](auto activation) {
    return [activation](tensor x) {
      return x | activation | dropout{.name = "d"} | activation | gaussian_noise{.name = "n"} | activation;
    };
  };
  trial<B> in_place(between_dense_layers(chain(tanh_activation{})), {.batch = batch});
  trial<B> beside(between_dense_layers(chain(careful{})), {.batch = batch});
  for (int step = 0; step < 2; ++step) EXPECT_EQ(in_place.step(), beside.step());
  EXPECT_EQ(in_place.all_gradients(), beside.all_gradients());
  EXPECT_LT(in_place.plan->memory().activations, beside.plan->memory().activations);
}

}  // namespace in_place_test
