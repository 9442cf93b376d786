// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/arrays.hpp>
#include <cohort/data/channel_normalisation.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/normalisation.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "refused.hpp"

namespace channel_normalisation_test {

using namespace cohort;

/// Two images of two channels with two places.
std::vector<std::uint8_t> const pixels{0, 51, 255, 255, 102, 51, 153, 51};
std::vector<std::uint8_t> const labels{0, 1};
arrays images() { return arrays(pixels, {2, 1, 2}, labels, 2, 1 / 255.0); }

std::vector<float> all_inputs(dataset const& data) {
  loader batches(data, {.batch = 8, .shuffle = false});
  auto const seen = batches.next()->input().as<float>();
  return {seen.begin(), seen.end()};
}

void expect_near(std::vector<float> const& got, std::vector<double> const& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

/// The same data set, normalised, with get as its only access.
struct rescaled {
  arrays data;
  data_description what;
  rescaled(arrays from, channel_normalisation const& how) : data(std::move(from)), what(data.describe()) {
    detail::normalise(what.inputs[0], how);
  }
  data_description const& describe() const { return what; }
  std::int64_t size() const { return data.size(); }
  void get(std::int64_t i, example_view& out) const { data.get(i, out); }
};

TEST(channel_normalisation, rescales_each_channel_of_a_batch) {
  std::vector<double> const wanted{-2, -1.2, 0.5, 0.5, -0.4, -1.2, 0.3, 0.1};
  expect_near(all_inputs(rescaled{images(), {.mean = {0.5, 0}, .deviation = {0.25, 2}}}), wanted, 1e-6);
  EXPECT_EQ(all_inputs(rescaled{images(), {}}), all_inputs(images()));
}

TEST(channel_normalisation, is_bitwise_equal_to_a_fitted_normalisation) {
  std::vector<std::uint8_t> all;
  for (int i = 0; i < 256; ++i)
    all.insert(all.end(), {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(255 - i)});
  std::vector<std::uint8_t> const zeros(256, 0);
  arrays const data(all, {2, 1, 1}, zeros, 1, 1 / 255.0);
  channel_normalisation const how{.mean = {0.485, 0.456}, .deviation = {0.229, 0.224}};
  normalisation const fitted{{{channel_scaling::from(0.485, 0.229), channel_scaling::from(0.456, 0.224)}},
                             {}};
  loader batches(normalised(data, fitted), {.batch = 256, .shuffle = false}),
      others(rescaled{data, how}, {.batch = 256, .shuffle = false});
  auto const one = batches.next()->input().as<float>(), other = others.next()->input().as<float>();
  EXPECT_TRUE(std::ranges::equal(one, other));
}

TEST(channel_normalisation, refuses_invalid_statistics_and_integer_inputs) {
  auto const says = [](channel_normalisation const& how) {
    return refused<setting_error>([&] { rescaled(images(), how); });
  };
  expect_parts(says({.mean = {0}, .deviation = {1, 1}}),
               {"input, mean", "2 numbers, one per channel", "got 1"});
  expect_parts(says({.mean = {0, 0}}), {"deviation", "2 numbers", "got 0"});
  expect_parts(says({.mean = {0, 0}, .deviation = {1, 0}}), {"deviation", "above 0", "got 0"});
  expect_parts(says({.mean = {0, std::nan("")}, .deviation = {1, 1}}), {"mean", "finite"});
  std::vector<std::int32_t> const words{1, 2};
  arrays const sentences({array_view{.name = "words", .values = {words.data(), shape(1, 2)}}});
  expect_parts(refused<shape_error>([&] {
                 rescaled(sentences, {.mean = {0, 0}, .deviation = {1, 1}});
               }),
               {"words", "f32 or f64"});
}

}  // namespace channel_normalisation_test
