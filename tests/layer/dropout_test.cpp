// SPDX-License-Identifier: Apache-2.0
// covers: layer/gaussian_noise
#include <gtest/gtest.h>
#include <cohort/layer/layers.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lone_layer.hpp"

namespace dropout_test {

using namespace cohort;

constexpr shape image{8, 5, 5};
constexpr std::size_t size = 200;

/// Output of a layer for ones, for the given examples of the data set in one batch.
template <class T = float, layer L>
std::vector<T> made_of_ones(L const& l, std::vector<std::int64_t> const& examples, std::int64_t step = 4) {
  int const batch = static_cast<int>(examples.size());
  lone_layer<T> run(l, batch, {image}, {std::vector<T>(size * examples.size(), 1)});
  run.scalars = {.seed = 9, .step = step, .indices = examples.data()};
  return run.forward();
}

template <layer L>
void expect_a_mask_of_the_example_alone(L const& l) {
  SCOPED_TRACE(L::kind_name);
  auto const together = made_of_ones(l, {7, 3, 1'000'000'007});
  auto const first = made_of_ones(l, {3, 12}), second = made_of_ones(l, {1'000'000'007});
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + size, together.begin() + size));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), together.begin() + 2 * size));
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + size, together.begin())) << "another example";
  EXPECT_NE(made_of_ones(l, {3}, 5), made_of_ones(l, {3}, 4)) << "another step";
  EXPECT_EQ(made_of_ones(l, {3}, 4), made_of_ones(l, {3}, 4));
}

TEST(random_layers, draw_masks_independently_of_the_other_examples) {
  expect_a_mask_of_the_example_alone(dropout{});
  expect_a_mask_of_the_example_alone(spatial_dropout{});
  expect_a_mask_of_the_example_alone(gaussian_noise{});
}

TEST(random_layers, draw_different_numbers_for_each_layer_and_seed) {
  auto const drawn = [](std::uint64_t layer, std::uint64_t seed) {
    std::vector<float> const x(size, 1);
    std::vector<float> y(size);
    float const* const inputs[]{x.data()};
    step_scalars const scalars{.seed = seed};
    dropout{}.forward(host_arguments<float>{.batch = 1,
                                            .layer = layer,
                                            .input_shapes = {&image, 1},
                                            .output_shape = image,
                                            .inputs = inputs,
                                            .output = y.data(),
                                            .scalars = &scalars});
    return y;
  };
  EXPECT_EQ(drawn(1, 1), drawn(1, 1));
  EXPECT_NE(drawn(1, 1), drawn(2, 1));
  EXPECT_NE(drawn(1, 1), drawn(1, 2));
}

template <layer L>
void expect_identity_at_inference(L const& l) {
  SCOPED_TRACE(L::kind_name);
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<float>(i) - 50;
  lone_layer<float> run(l, 1, {image}, {x});
  EXPECT_EQ(run.forward(false), x);
  EXPECT_NE(run.forward(true), x);
}

TEST(random_layers, change_nothing_at_inference) {
  expect_identity_at_inference(dropout{.rate = 0.2});
  expect_identity_at_inference(spatial_dropout{.rate = 0.5});
  expect_identity_at_inference(gaussian_noise{.deviation = 0.01});
}

std::vector<std::int64_t> many() {
  std::vector<std::int64_t> examples(500);
  for (std::size_t n = 0; n < examples.size(); ++n) examples[n] = static_cast<std::int64_t>(n);
  return examples;
}

struct statistics {
  double mean = 0;
  double deviation = 0;
};
statistics of(std::vector<float> const& y) {
  double sum = 0, squares = 0;
  for (float const one : y) sum += one, squares += static_cast<double>(one) * one;
  double const mean = sum / static_cast<double>(y.size());
  return {mean, std::sqrt(squares / static_cast<double>(y.size()) - mean * mean)};
}

/// Bounds of five standard deviations, for n = 100,000 elements, or for 4,000 channels.
TEST(dropout, drops_at_its_rate_and_preserves_the_mean) {
  for (double const rate : {0.1, 0.5, 0.9}) {
    auto const y = made_of_ones(dropout{.rate = rate}, many());
    auto const dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0F)) / 1e5;
    EXPECT_NEAR(dropped, rate, 5 * std::sqrt(rate * (1 - rate) / 1e5)) << rate;
    EXPECT_NEAR(of(y).mean, 1, 5 * std::sqrt(rate / (1 - rate) / 1e5)) << rate;
    for (float const one : y) ASSERT_TRUE(one == 0 || one == static_cast<float>(1 / (1 - rate)));
  }
}

TEST(dropout, drops_neighbours_independently) {
  auto const y = made_of_ones(dropout{}, many());
  for (std::size_t const apart : {1, 2, 3, 4, 25, 200}) {
    double both = 0;
    for (std::size_t i = 0; i + apart < y.size(); ++i) both += y[i] == 0 && y[i + apart] == 0;
    EXPECT_NEAR(both / 1e5, 0.25, 5 * std::sqrt(0.25 * 0.75 / 1e5)) << apart;
  }
}

TEST(spatial_dropout, drops_whole_channels) {
  auto const y = made_of_ones(spatial_dropout{.rate = 0.3}, many());
  int dropped = 0;
  for (std::size_t first = 0; first < y.size(); first += 25) {
    dropped += y[first] == 0;
    for (std::size_t i = first; i < first + 25; ++i) ASSERT_EQ(y[i], y[first]);
    ASSERT_TRUE(y[first] == 0 || y[first] == static_cast<float>(1 / 0.7));
  }
  EXPECT_NEAR(dropped / 4000.0, 0.3, 5 * std::sqrt(0.3 * 0.7 / 4000));
}

TEST(gaussian_noise, adds_numbers_of_mean_0_and_the_given_deviation) {
  statistics const found = of(made_of_ones(gaussian_noise{.deviation = 0.5}, many()));
  EXPECT_NEAR(found.mean, 1, 5 * 0.5 / std::sqrt(1e5));
  EXPECT_NEAR(found.deviation, 0.5, 5 * 0.5 / std::sqrt(2e5));
}

template <layer L>
void expect_the_mask_of_forward_in_backward(L const& l) {
  SCOPED_TRACE(L::kind_name);
  std::vector<double> const ones(3 * size, 1);
  lone_layer<> run(l, 3, {image}, {ones});
  run.scalars = {.seed = 4, .step = 2};
  auto const y = run.forward();
  EXPECT_EQ(run.differentiate(ones), y);
}

TEST(random_layers, recompute_the_mask_of_forward_in_backward) {
  expect_the_mask_of_forward_in_backward(dropout{.rate = 0.4});
  expect_the_mask_of_forward_in_backward(spatial_dropout{.rate = 0.4});
  std::vector<double> const diff(size, 3);
  lone_layer<> noise(gaussian_noise{}, 1, {image}, {std::vector<double>(size, 1)});
  noise.forward();
  EXPECT_EQ(noise.differentiate(diff), diff) << "noise has the gradient of the identity";
}

TEST(random_layers, draw_equally_for_floats_and_doubles) {
  auto const narrow = made_of_ones(dropout{.rate = 0.3}, {1, 2});
  auto const wide = made_of_ones<double>(dropout{.rate = 0.3}, {1, 2});
  for (std::size_t i = 0; i < narrow.size(); ++i) EXPECT_EQ(narrow[i] == 0, wide[i] == 0);
}

TEST(random_layers, report_why_they_refuse_a_field) {
  for (double const rate : {-0.1, 1.0, std::nan("")}) {
    EXPECT_EQ(refusal_of(dropout{.rate = rate}, image), "the rate of a dropout must be in [0, 1)");
    EXPECT_EQ(refusal_of(spatial_dropout{.rate = rate}, image), "the rate of a dropout must be in [0, 1)");
  }
  EXPECT_EQ(refusal_of(spatial_dropout{}, shape{9}),
            "spatial dropout needs channels of several elements: use dropout");
  EXPECT_EQ(refusal_of(gaussian_noise{.deviation = -1}, image),
            "the deviation of Gaussian noise must be a finite number, at least 0");
  EXPECT_EQ(refusal_of(dropout{.rate = 0}, image), "");
  EXPECT_EQ(made_of_ones(dropout{.rate = 0}, {1}), std::vector<float>(size, 1));
}

}  // namespace dropout_test
