// SPDX-License-Identifier: Apache-2.0
// covers: data/fit_normalisation data/description
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/data/arrays.hpp>
#include <cohort/data/concat.hpp>
#include <cohort/data/detail/channel_statistics.hpp>
#include <cohort/data/detail/rescale.hpp>
#include <cohort/data/fit_normalisation.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/mapped.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>
#include "refused.hpp"

namespace normalisation_test {

using namespace cohort;
using detail::channel_statistics;

/// Rows of three features of different size and one number to predict; the last feature is constant.
struct houses {
  std::vector<float> features, prices;

  explicit houses(int count, std::uint64_t seed = 1) {
    random_stream const noise(seed, "houses");
    for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(count); ++n) {
      float const area = 50 + 100 * noise.uniform01(2 * n), rooms = 1 + 5 * noise.uniform01(2 * n + 1);
      features.insert(features.end(), {area, rooms, 0.1F});
      prices.push_back(1000 * area + 20'000 * rooms);
    }
  }
  int count() const { return static_cast<int>(prices.size()); }
  dataset data() const {
    return arrays({array_view{.values = {features.data(), {count(), 3}}}},
                  {array_view{.name = "price", .values = {prices.data(), {count()}}}});
  }
};

/// Inputs and targets of the whole data set, in its order.
std::vector<float> all_of(dataset const& data, bool target = false) {
  loader batches(data, {.batch = static_cast<int>(data.size()), .shuffle = false});
  batches.start(0);
  batch const* const all = batches.next();
  std::span<float const> const values = (target ? all->target() : all->input()).as<float>();
  return {values.begin(), values.end()};
}

struct moments {
  double mean = 0, deviation = 0, lowest = 1e300, highest = -1e300;

  moments(std::vector<float> const& values, std::size_t column, std::size_t columns) {
    auto const rows = static_cast<double>(values.size() / columns);
    for (std::size_t i = column; i < values.size(); i += columns) {
      mean += static_cast<double>(values[i]) / rows;
      lowest = std::min(lowest, static_cast<double>(values[i]));
      highest = std::max(highest, static_cast<double>(values[i]));
    }
    for (std::size_t i = column; i < values.size(); i += columns)
      deviation += std::pow(static_cast<double>(values[i]) - mean, 2) / rows;
    deviation = std::sqrt(deviation);
  }
};

TEST(normalisation, standardises_each_feature_and_the_target) {
  houses const examples(500);
  normalisation const fitted = fit_normalisation(examples.data(), {.targets = rescaling::standardise});
  dataset const data = normalised(examples.data(), fitted);
  std::vector<float> const inputs = all_of(data), targets = all_of(data, true);
  for (std::size_t feature : {0U, 1U}) {
    EXPECT_NEAR(moments(inputs, feature, 3).mean, 0, 1e-6);
    EXPECT_NEAR(moments(inputs, feature, 3).deviation, 1, 1e-6);
  }
  for (std::size_t i = 2; i < inputs.size(); i += 3) ASSERT_EQ(inputs[i], 0) << "the constant feature";
  EXPECT_NEAR(moments(targets, 0, 1).mean, 0, 1e-6);
  EXPECT_NEAR(moments(targets, 0, 1).deviation, 1, 1e-6);
}

TEST(normalisation, min_max_maps_the_extremes_to_0_and_1) {
  houses const examples(50);
  dataset const data = normalised(examples.data(), fit_normalisation(examples.data(), {rescaling::min_max}));
  std::vector<float> const inputs = all_of(data);
  for (std::size_t feature : {0U, 1U}) {
#ifdef __FP_FAST_FMA  // the compiler may fuse x·scale + offset, as for 64-bit ARM
    EXPECT_NEAR(moments(inputs, feature, 3).lowest, 0, 1e-15);
#else
    EXPECT_EQ(moments(inputs, feature, 3).lowest, 0);
#endif
    EXPECT_FLOAT_EQ(static_cast<float>(moments(inputs, feature, 3).highest), 1);
  }
  EXPECT_EQ(all_of(data, true), examples.prices) << "targets are rescaled only if asked";
}

TEST(normalisation, uses_the_statistics_of_the_fitted_data_only) {
  houses const seen(200), held(100, 2);
  normalisation const fitted = fit_normalisation(seen.data());
  std::vector<float> const rescaled = all_of(normalised(held.data(), fitted));
  for (std::size_t i = 0; i < rescaled.size(); ++i) {
    auto const [scale, offset] = fitted.inputs[0][i % 3];
    ASSERT_NEAR(rescaled[i], static_cast<double>(held.features[i]) * scale + offset, 1e-6);
  }
}

TEST(normalisation, is_fitted_to_scaled_image_channels) {
  std::vector<std::uint8_t> const pixels{0, 10, 20, 30, 100, 100, 200, 200,
                                         5, 15, 25, 35, 100, 100, 200, 200};
  std::vector<std::int32_t> const labels{0, 1};
  dataset const images(arrays(pixels, {2, 2, 2}, labels, 2, 1 / 255.0));
  normalisation const fitted = fit_normalisation(images);
  ASSERT_EQ(fitted.inputs.size(), 1U);
  EXPECT_TRUE(fitted.targets.empty());
  EXPECT_NEAR(fitted.inputs[0][0].scale, 255 / std::sqrt(131.25), 1e-4);
  EXPECT_NEAR(fitted.inputs[0][1].offset, -3, 1e-5);
  std::vector<float> const values = all_of(normalised(images, fitted));
  EXPECT_NEAR(values[0], (0 - 17.5) / std::sqrt(131.25), 1e-5);
  EXPECT_NEAR(values[4], -1, 1e-5);
  EXPECT_NEAR(values[6], 1, 1e-5);
}

TEST(normalisation, rescales_the_columns_of_windows) {
  std::vector<float> rows;
  for (int t = 0; t < 40; ++t)
    rows.insert(rows.end(), {static_cast<float>(t % 2), static_cast<float>(1000 + 4 * (t % 2))});
  dataset const data = windows(time_series(rows, 2), {.length = 4});
  normalisation const fitted = fit_normalisation(data, {.targets = rescaling::standardise});
  ASSERT_EQ(fitted.inputs[0].size(), 2U) << "one map per column";
  std::vector<float> const values = all_of(normalised(data, fitted));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(std::abs(values[i]), 1, 1e-6) << i;
  EXPECT_EQ(fitted.targets[0].size(), 2U);
  normalisation of_elements = fitted;  // as in files of earlier versions
  for (int row = 1; row < 4; ++row)
    for (int c : {0, 1}) of_elements.inputs[0].push_back(fitted.inputs[0][static_cast<std::size_t>(c)]);
  EXPECT_EQ(all_of(normalised(data, of_elements)), values);
}

TEST(normalisation, composes_maps_of_channels_and_of_elements) {
  std::vector<float> const values{1, 2, 3, 4};
  dataset const data = arrays({array_view{.values = {values.data(), {1, 2, 1, 2}}}});
  normalisation const channels{{{{2, 0}, {10, 0}}}, {}}, elements{{{{1, 1}, {1, 2}, {1, 3}, {1, 4}}}, {}};
  EXPECT_EQ(all_of(normalised(normalised(data, channels), elements)), (std::vector<float>{3, 6, 33, 44}));
  EXPECT_EQ(all_of(normalised(normalised(data, elements), channels)), (std::vector<float>{4, 8, 60, 80}));
  dataset const steps = arrays({array_view{.values = {values.data(), {1, 2, 2}}}});
  EXPECT_EQ(all_of(normalised(normalised(steps, channels), elements)), (std::vector<float>{3, 22, 9, 44}));
  EXPECT_EQ(all_of(normalised(normalised(steps, elements), channels)), (std::vector<float>{4, 40, 12, 80}));
}

TEST(normalisation, is_preserved_by_views_and_compared_by_concat) {
  houses const examples(60);
  normalisation const fitted = fit_normalisation(examples.data());
  auto const [training, held] = split(normalised(examples.data(), fitted), 0.5);
  EXPECT_EQ(all_of(training), all_of(normalised(split(examples.data(), 0.5).training, fitted)));
  EXPECT_THROW(concat(training, split(examples.data(), 0.5).held_out), data_error);
  EXPECT_EQ(concat(training, held).size(), 60);
}

TEST(normalisation, round_trips_bitwise_through_json) {
  houses const examples(31);
  normalisation const fitted = fit_normalisation(examples.data(), {.targets = rescaling::min_max});
  EXPECT_EQ(normalisation::from_json(fitted.to_json(), "model"), fitted);
  for (char const* text :
       {"", "{}", R"({"inputs": []})", R"({"inputs": [], "targets": [], "masks": []})",
        R"({"inputs": 1, "targets": []})", R"({"inputs": [[{"scale": 1}]], "targets": []})",
        R"({"inputs": [[{"scale": 1, "offset": 0, "unit": 0}]], "targets": []})",
        R"({"inputs": [[{"scale": 0, "offset": 1}]], "targets": []})",
        R"({"inputs": [[[1, 0]]], "targets": []})"})
    EXPECT_THROW(normalisation::from_json(text, "model"), data_error) << text;
}

TEST(normalisation, refuses_labels_wrong_shapes_and_empty_data) {
  houses const examples(10);
  std::vector<std::int32_t> const labels(10, 0);
  dataset const classes = arrays(examples.features, {3}, labels, 2);
  EXPECT_EQ(refused<setting_error>([&] { fit_normalisation(classes, {.targets = rescaling::min_max}); }),
            "class labels cannot be rescaled (target label): expected numbers without bounds, or "
            "normalisation_settings::targets = rescaling::none, got class labels");
  normalisation const fitted = fit_normalisation(examples.data(), {.targets = rescaling::standardise});
  std::vector<float> const wide(40);
  dataset const other = arrays({array_view{.values = {wide.data(), {10, 4}}}},
                               {array_view{.name = "price", .values = {wide.data(), {10}}}});
  EXPECT_EQ(refused<shape_error>([&] { normalised(other, fitted); }),
            "a normalisation does not match the data set (input ): expected 3 channels of f32 or f64, got "
            "4, f32");
  EXPECT_THROW(normalised(classes, fitted), shape_error);
  dataset const indices =
      arrays({array_view{.name = "word", .values = {wide.data(), {40, 1}}, .features = feature_axis::none}});
  EXPECT_TRUE(fit_normalisation(indices).empty());
  EXPECT_EQ(
      refused<shape_error>([&] {
        normalised(indices, normalisation{{{{2, 0}}}, {}});
      }),
      "a normalisation does not match the data set (input word): expected 1 channels of f32 or f64, got "
      "1, indices");
  EXPECT_THROW(channel_statistics(examples.data().describe(), {}).result(), data_error);
}

TEST(normalisation, refuses_numbers_that_cannot_be_rescaled) {
  constexpr double none = 7;  // becomes NaN after arrays has checked the numbers
  auto const refusal = [](std::vector<double> const& numbers, rescaling how) {
    std::vector<double> columns;
    for (double const one : numbers) columns.insert(columns.end(), {1, one});
    dataset const data =
        arrays({array_view{.name = "x", .values = {columns.data(), {static_cast<int>(numbers.size()), 2}}}});
    return refused<data_error>([&] {
      fit_normalisation(mapped(data,
                               [](std::int64_t, example_view& one) {
                                 double& x = one.edit<double>(0)[1];
                                 if (x == none) x = std::numeric_limits<double>::quiet_NaN();
                               }),
                        {.inputs = how});
    });
  };
  EXPECT_EQ(refusal({1e308, -1e308}, rescaling::min_max),
            "numbers cannot be rescaled (input x, channel 1): expected finite numbers; deviation, range "
            "and their reciprocals must be finite, got mean 0, range inf");
  EXPECT_EQ(refusal({1e-200, 3e-200}, rescaling::standardise),
            "numbers cannot be rescaled (input x, channel 1): expected finite numbers; deviation, range "
            "and their reciprocals must be finite, got mean 2e-200, deviation 0");
  for (rescaling const how : {rescaling::standardise, rescaling::min_max})
    EXPECT_NE(refusal({1, none, 3}, how).find("got mean"), std::string::npos);
}

TEST(channel_statistics, of_parts_merge_to_the_statistics_of_the_whole) {
  houses const examples(301);
  dataset const data = examples.data();
  normalisation_settings const how{.targets = rescaling::standardise};
  auto const of_rank = [&](int rank, int ranks) {
    channel_statistics made(data.describe(), how);
    loader batches(data, {.batch = 16, .rank = rank, .ranks = ranks, .shuffle = false});
    batches.start(0);
    while (batch const* const next = batches.next()) made.add(*next);
    return made;
  };
  normalisation const whole = of_rank(0, 1).result();
  channel_statistics merged(data.describe(), how);
  for (int rank = 0; rank < 3; ++rank) merged.merge(of_rank(rank, 3).sums());
  normalisation const parts = merged.result();
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(parts.inputs[0][c].scale, whole.inputs[0][c].scale, 1e-12 * whole.inputs[0][c].scale);
    EXPECT_NEAR(parts.inputs[0][c].offset, whole.inputs[0][c].offset,
                1e-12 * std::abs(whole.inputs[0][c].offset));
  }
  EXPECT_NEAR(parts.targets[0][0].scale, whole.targets[0][0].scale, 1e-12 * whole.targets[0][0].scale);
}

/// Examples {i, 2i}; examples with an odd number have weight 0 and extreme values.
struct half_weighted {
  data_description const& describe() const { return what; }
  std::int64_t size() const { return 10; }
  void get(std::int64_t i, example_view& out) const {
    float* const to = out.fill<float>(0);
    to[0] = i % 2 == 0 ? static_cast<float>(i) : -1e6F;
    to[1] = i % 2 == 0 ? static_cast<float>(2 * i) : 1e6F;
    out.weight = i % 2 == 0 ? 1.0F : 0.0F;
  }
  data_description what{.inputs = {{.name = "pair", .example = {2}}}, .weighted = true};
};

TEST(normalisation, ignores_examples_of_weight_zero) {
  std::vector<float> const kept{0, 0, 2, 4, 4, 8, 6, 12, 8, 16};
  dataset const some = arrays({array_view{.name = "pair", .values = {kept.data(), {5, 2}}}});
  for (rescaling const how : {rescaling::standardise, rescaling::min_max})
    EXPECT_EQ(fit_normalisation(dataset(half_weighted()), {.inputs = how}),
              fit_normalisation(some, {.inputs = how}));
}

TEST(normalisation, is_accurate_far_from_zero) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e8 + i % 2);
  arrays const data({array_view{.values = {values.data(), shape(100, 10, 1)}}});
  channel_scaling const fitted = fit_normalisation(data).inputs[0][0];
  EXPECT_NEAR(fitted.scale, 2, 1e-7);
  EXPECT_NEAR(fitted.offset, -(2e8 + 1), 10);
}

TEST(normalisation, inverts_the_scaling_of_channels) {
  std::vector<channel_scaling> const maps{{4, -4}, {0.5, -1}};
  std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8};
  mutable_tensor_view const two_examples(values.data(), {2, 4});
  detail::rescale(two_examples, maps, detail::direction::forth);
  EXPECT_EQ(values, (std::vector<double>{0, 4, 0.5, 1, 16, 20, 2.5, 3}));
  detail::rescale(two_examples, maps, detail::direction::back);
  EXPECT_EQ(values, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

}  // namespace normalisation_test
