// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>
#include <cohort/onednn/detail/activation.hpp>

#include <cohort/backend/reference.hpp>
#include <cohort/graph/graph.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../../plan/trial.hpp"

namespace onednn_activation_test {

using namespace cohort;

/// Kinks of the activations, points on both sides of them, and points far away. Each is a unit's bias, so
/// that its gradient is the derivative.
std::vector<double> const places{-90, -6, -2.5, -1, -0.5, -1e-4, 0, 1e-4, 0.5, 1, 2.5, 3, 6, 7, 30, 90};

template <layer L>
graph at_places(L const& l, bool fused) {
  return graph::build([&](builder& net) {
    tensor const x = net.input({1}) | dense{.units = static_cast<int>(places.size())};
    (fused ? x : x | cohort::identity_activation{}) | l | dense{.units = 3, .bias = false}
        | softmax_cross_entropy{};
  });
}

/// The outputs, and the gradient of the biases.
template <tensor_backend B>
std::vector<double> values_and_derivatives(graph const& net) {
  using T = typename B::scalar;
  trial<B> t(net, {.batch = 1});
  std::vector<T> const zeros(places.size()), biases(places.begin(), places.end());
  t.store->write(0, reinterpret_cast<std::byte const*>(zeros.data()), t.store->master());
  t.store->write(1, reinterpret_cast<std::byte const*>(biases.data()), t.store->master());
  t.store->mark_changed();
  t.store->refresh_stale();
  t.step();
  std::vector<double> found;
  for (T const derivative : t.gradient(1)) found.push_back(static_cast<double>(derivative));
  for (T const value : t.gradient(2)) found.push_back(static_cast<double>(value));
  return found;
}

class tried {
 public:
  template <layer L>
  void expect_our_formula(L const& l) {
    for (bool const fused : {true, false}) {
      graph const net = at_places(l, fused);
      std::vector<double> const wanted = values_and_derivatives<reference<double>>(net),
                                got = values_and_derivatives<onednn>(net);
      ASSERT_EQ(got.size(), wanted.size());
      double const largest = std::max(1.0, *std::max_element(wanted.begin(), wanted.end()));
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], wanted[i], 2e-6 * largest)
            << L::kind_name << " at " << places[i % places.size()] << (fused ? ", fused" : "");
    }
    kinds_.insert(L::kind_name);
  }
  void expect_the_whole_table() const {
    for (auto const& one : detail::dnnl_activations) EXPECT_TRUE(kinds_.contains(one.kind)) << one.kind;
  }

 private:
  std::set<std::string_view> kinds_;
};

TEST(activation, matches_its_formula_at_every_kink_alone_and_fused) {
  tried t;
  t.expect_our_formula(relu{});
  t.expect_our_formula(leaky_relu{.slope = 0.3});
  t.expect_our_formula(elu{.alpha = 0.4});
  t.expect_our_formula(sigmoid{});
  t.expect_our_formula(tanh_activation{});
  t.expect_our_formula(relu6{});
  t.expect_our_formula(hard_tanh{});
  t.expect_our_formula(hard_sigmoid{});
  t.expect_our_formula(softplus{});
  t.expect_our_formula(swish{});
  t.expect_our_formula(gelu{});
  t.expect_our_formula(gelu_tanh{});
  t.expect_our_formula(mish{});
  t.expect_the_whole_table();
}

template <layer L>
std::string steps_of(L const& l) {
  std::string steps;
  graph const net = graph::build([&](builder& b) {
    return b.input({3, 8, 8}) | conv2d{.filters = 16, .kernel = 3, .name = "c"} | l
           | dense{.units = 5, .name = "d"} | l | dense{.units = 2, .name = "e"}
           | softmax_cross_entropy{.name = "loss"};
  });
  for (plan_row const& row : trial<onednn>(net, {.batch = 4}).plan->rows())
    if (row.direction == plan_pass::forward && row.implementation != "reorder")
      steps += row.step + (row.implementation.starts_with("host") ? " on the host; " : "; ");
  return steps;
}

TEST(activation, is_fused_if_the_gradient_needs_only_the_output) {
  EXPECT_EQ(steps_of(sigmoid{}), "c + sigmoid_1; d + sigmoid_2; e; loss on the host; ");
  EXPECT_EQ(steps_of(relu6{}), "c + relu6_1; d + relu6_2; e; loss on the host; ");
  EXPECT_EQ(steps_of(swish{}), "c; swish_1; d; swish_2; e; loss on the host; ");
  EXPECT_EQ(steps_of(selu{}), "c; selu_1 on the host; d; selu_2 on the host; e; loss on the host; ");
}

/// 19 channels do not fill blocks of 16. An activation with f(0) ≠ 0 would overwrite their padding.
TEST(activation, runs_in_blocked_layouts_only_if_it_maps_0_to_0) {
  onednn const backend;
  auto const run = [&](auto const& l) {
    auto const values = detail::encode(l);
    shape const image{19, 2, 2};
    auto const blocked = detail::memory_layout::tagged({2, 19, 2, 2}, dnnl_f32, dnnl_aBcd16b);
    operation_request<onednn> request;
    request.name = "padded";
    request.kind = &kind_of<std::remove_cvref_t<decltype(l)>>;
    request.fields = values.data();
    request.batch = 2;
    request.input_shapes = {&image, 1};
    request.output_shape = image;
    request.inputs = {&blocked, 1};
    request.wants_diff_input = {true};
    return backend.prepare(request).output.name();
  };
  EXPECT_EQ(run(relu{}), "aBcd16b");
  EXPECT_EQ(run(swish{}), "aBcd16b") << "0 at 0";
  EXPECT_EQ(run(sigmoid{}), "abcd");
  EXPECT_EQ(run(softplus{}), "abcd");
}

}  // namespace onednn_activation_test
