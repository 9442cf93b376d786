// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/data/arrays.hpp>
#include <cohort/data/channel_statistics.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/normalised.hpp>
#include <cstdint>
#include <vector>

#include "refused.hpp"

namespace normalised_test {

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

/// The same data set with get only.
struct one_by_one {
  arrays data;
  data_description const& describe() const { return data.describe(); }
  std::int64_t size() const { return data.size(); }
  void get(std::int64_t i, example_view& out) const { data.get(i, out); }
};

TEST(channel_statistics, are_the_mean_and_the_deviation_over_examples_and_places) {
  channel_normalisation const found = channel_statistics(images());
  // channel 0: 0, 0.2, 0.4, 0.2; channel 1: 1, 1, 0.6, 0.2
  ASSERT_EQ(found.mean.size(), 2U);
  EXPECT_NEAR(found.mean[0], 0.2, 1e-7);
  EXPECT_NEAR(found.mean[1], 0.7, 1e-7);
  EXPECT_NEAR(found.deviation[0], std::sqrt(0.02), 1e-7);
  EXPECT_NEAR(found.deviation[1], std::sqrt(0.11), 1e-7);
  channel_normalisation const shared = channel_statistics(one_by_one{images()}, 3);
  EXPECT_EQ(shared.mean, found.mean);
  EXPECT_EQ(shared.deviation, found.deviation);
}

TEST(channel_statistics, are_accurate_far_from_zero) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e8 + (i % 2));
  arrays const data({array{.name = "input", .values = {values.data(), shape(100, 1, 10)}}});
  channel_normalisation const found = channel_statistics(data);
  EXPECT_NEAR(found.mean[0], 1e8 + 0.5, 1e-6);
  EXPECT_NEAR(found.deviation[0], 0.5, 1e-9);
}

TEST(normalised, gives_every_channel_of_the_training_data_mean_0_and_deviation_1) {
  channel_normalisation const found = channel_statistics(normalised(images(), channel_statistics(images())));
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_NEAR(found.mean[c], 0, 1e-6);
    EXPECT_NEAR(found.deviation[c], 1, 1e-6);
  }
}

TEST(normalised, keeps_the_stored_bytes_and_scales_when_the_batch_is_made) {
  normalised const data(images(), {.mean = {0.5, 0}, .deviation = {0.25, 2}});
  EXPECT_EQ(data.describe().inputs[0].stored, element_type::u8);
  EXPECT_EQ(data.rows()[0].first, images().rows()[0].first);
  std::vector<double> const wanted{-2, -1.2, 0.5, 0.5, -0.4, -1.2, 0.3, 0.1};
  expect_near(all_inputs(data), wanted, 1e-6);
  expect_near(all_inputs(normalised(one_by_one{images()}, {.mean = {0.5, 0}, .deviation = {0.25, 2}})),
              wanted, 1e-6);
  expect_near(all_inputs(normalised(data, {.mean = {1, 0}, .deviation = {2, 1}})),
              {-1.5, -1.1, 0.5, 0.5, -0.7, -1.1, 0.3, 0.1}, 1e-6);
  EXPECT_EQ(all_inputs(normalised(images(), {})), all_inputs(images()));
}

TEST(normalised, refuses_what_it_cannot_normalise) {
  auto const says = [](channel_normalisation const& how) {
    return refused<setting_error>([&] { normalised(images(), how); });
  };
  expect_parts(says({.mean = {0}, .deviation = {1, 1}}),
               {"input, mean", "2 numbers, one per channel", "got 1"});
  expect_parts(says({.mean = {0, 0}}), {"deviation", "2 numbers", "got 0"});
  expect_parts(says({.mean = {0, 0}, .deviation = {1, 0}}), {"deviation", "above 0", "got 0"});
  expect_parts(says({.mean = {0, std::nan("")}, .deviation = {1, 1}}), {"mean", "finite"});
  std::vector<std::int32_t> const words{1, 2};
  arrays const sentences({array{.name = "words", .values = {words.data(), shape(1, 2)}}});
  expect_parts(refused<shape_error>([&] {
                 normalised(sentences, {.mean = {0, 0}, .deviation = {1, 1}});
               }),
               {"words", "f32 or f64"});
  expect_parts(refused<shape_error>([&] { channel_statistics(sentences); }), {"words", "f32 or f64", "i32"});
}

}  // namespace normalised_test
