// SPDX-License-Identifier: Apache-2.0
// Losses in networks: the targets that a context accepts for them, and several losses together.
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/graph_json.hpp>

#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "trial.hpp"

namespace targets_test {

using namespace cohort;
using B = reference<double>;

template <layer L>
graph ends_in(L const& l, int units = 3) {
  return graph::build([&](builder& net) { return net.input({2}) | dense{.units = units} | l; });
}

/// Error for two examples with this target.
template <class Error, layer L, class E>
std::string refused(L const& l, std::vector<E> const& target, shape const& dims) {
  trial<B> run(ends_in(l), {.batch = 2});
  run.batch.target_views[0] = {target.data(), dims};
  return refusal_of<Error>([&] { run.forward(); });
}

TEST(targets, of_another_type_or_shape_are_refused) {
  std::vector<std::int32_t> const indices{0, 1};
  std::vector<double> const six(6, 0.5);
  EXPECT_EQ(refused<shape_error>(mean_squared_error{}, indices, {2}),
            "a target has the wrong shape or element type (target 0): expected 2x3 x f64, got 2 x i32");
  EXPECT_EQ(refused<shape_error>(binary_cross_entropy{}, six, {2, 1}),
            "a target has the wrong shape or element type (target 0): expected 2x3 x f64, got 2x1 x f64");
  EXPECT_EQ(
      refused<shape_error>(softmax_cross_entropy{}, six, {6}),
      "a target has the wrong shape or element type (target 0): expected 2 x i32, or 2x3 x f64, got 6 x "
      "f64");
  EXPECT_EQ(refused<shape_error>(kullback_leibler{}, indices, {2}),
            "a target has the wrong shape or element type (target 0): expected 2x3 x f64, got 2 x i32");
  EXPECT_EQ(refused<shape_error>(softmax_cross_entropy{}, six, {2, 3}), "");
  EXPECT_EQ(refused<shape_error>(hinge{}, std::vector<float>(6, 1), {2, 3}), "") << "f32 in a network of f64";
}

TEST(targets, out_of_range_are_refused_and_the_example_is_reported) {
  auto const with = [](double value) { return std::vector<double>{0, 1, 0.5, 0, value, 0}; };
  EXPECT_EQ(refused<data_error>(binary_cross_entropy{}, with(2), {2, 3}),
            "a target is out of range (target 0, example 1 of the batch): expected 0 to 1, got 2");
  EXPECT_NE(refused<data_error>(kullback_leibler{}, with(-0.25), {2, 3}).find("got -0.25"),
            std::string::npos);
  EXPECT_NE(refused<data_error>(hinge{}, with(-1.5), {2, 3}).find("expected -1 to 1"), std::string::npos);
  EXPECT_NE(refused<data_error>(binary_cross_entropy{}, with(std::nan("")), {2, 3}), "");
  EXPECT_NE(refused<data_error>(binary_cross_entropy{}, std::vector<float>(6, 2), {2, 3}), "");
  EXPECT_EQ(refused<data_error>(hinge{}, with(-1), {2, 3}), "");
  EXPECT_EQ(refused<data_error>(mean_squared_error{}, with(1e6), {2, 3}), "");
}

TEST(targets, that_are_ignored_may_have_any_index) {
  softmax_cross_entropy const ignoring{.ignore_index = -100};
  EXPECT_EQ(refused<data_error>(ignoring, std::vector<std::int32_t>{-100, 1}, {2}), "");
  EXPECT_EQ(
      refused<data_error>(ignoring, std::vector<std::int32_t>{0, -1}, {2}),
      "a label is out of range (target 0, example 1 of the batch): expected 0 to 2, or -100 to ignore it, "
      "got -1");
}

TEST(targets, that_are_ignored_contribute_nothing) {
  trial<B> all(ends_in(softmax_cross_entropy{}), {.batch = 2});
  trial<B> some(ends_in(softmax_cross_entropy{.ignore_index = 1}), {.batch = 5});
  some.batch.inputs[0] = {9, 9, 1, 2, 8, 8, 3, 4, 7, 7};
  some.batch.indices[0] = {1, 0, 1, 2, 1};
  some.batch.divisor = 2;
  all.batch.inputs[0] = {1, 2, 3, 4};
  all.batch.indices[0] = {0, 2};
  EXPECT_EQ(detail::loss_divisor(ends_in(softmax_cross_entropy{.ignore_index = 1}))
                .of(some.batch.input_views, {}, some.batch.target_views, {}, 5),
            2);
  EXPECT_NEAR(some.step(), all.step(), 1e-15);
  auto const got = some.all_gradients(), wanted = all.all_gradients();
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-15);
}

tensor body(builder& net) { return net.input({4}) | dense{.units = 3}; }

TEST(losses, add_their_weighted_values_and_gradients) {
  graph const both = graph::build([](builder& net) {
    tensor const x = body(net);
    x | mean_squared_error{.weight = 0.25};
    x | softmax_cross_entropy{.weight = 2};
  });
  trial<B> joined(both, {.batch = 5});
  double loss = 0;
  std::vector<double> gradient(static_cast<std::size_t>(joined.store->elements()));
  auto const add = [&](auto const& only, std::size_t which, double weight) {
    graph const net = graph::build([&](builder& b) { return body(b) | only; });
    trial<B> alone(net, {.batch = 5});
    alone.batch.input_views = joined.batch.input_views;
    alone.batch.target_views = {joined.batch.target_views[which]};
    for (int p = 0; p < joined.parameters(); ++p) {
      auto const values = joined.dense(p, joined.store->master());
      alone.store->write(p, reinterpret_cast<std::byte const*>(values.data()), alone.store->master());
    }
    alone.store->mark_changed();
    alone.store->refresh_stale();
    loss += weight * alone.step();
    auto const part = alone.all_gradients();
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += weight * part[i];
  };
  add(mean_squared_error{}, 0, 0.25);
  add(softmax_cross_entropy{}, 1, 2);
  EXPECT_NEAR(joined.step(), loss, 1e-14);
  auto const got = joined.all_gradients();
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(got[i], gradient[i], 1e-14);
}

TEST(losses, round_trip_through_json) {
  auto const expect_again = [](graph const& net) {
    graph const again = from_json(to_json(net));
    EXPECT_EQ(again.hash(), net.hash());
    EXPECT_EQ(to_json(again), to_json(net));
  };
  expect_again(ends_in(mean_squared_error{.weight = 0.5}));
  expect_again(ends_in(mean_absolute_error{.weight = 2, .name = "distance"}));
  expect_again(ends_in(huber{.delta = 0.125}));
  expect_again(ends_in(hinge{}));
  expect_again(ends_in(binary_cross_entropy{.weight = 3}));
  expect_again(ends_in(kullback_leibler{}));
  expect_again(ends_in(softmax_cross_entropy{.label_smoothing = 0.1}));
}

}  // namespace targets_test
