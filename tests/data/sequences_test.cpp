// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/concat.hpp>
#include <cohort/data/fit_normalisation.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/data/order.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/sequences.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/weighted_by_class.hpp>

#include <cmath>

#include "view_cases.hpp"

namespace sequences_test {

using namespace cohort;

/// Series i has i % 4 + 1 steps of two numbers: (i, t). The class of the series is i % 2, that of step t is
/// (i + t) % 3.
struct ragged {
  std::vector<float> rows;
  std::vector<int> lengths;
  std::vector<std::int32_t> labels, step_labels;

  explicit ragged(int count) {
    for (int i = 0; i < count; ++i) {
      lengths.push_back(i % 4 + 1);
      labels.push_back(i % 2);
      for (int t = 0; t < lengths.back(); ++t) {
        rows.insert(rows.end(), {static_cast<float>(i), static_cast<float>(t)});
        step_labels.push_back((i + t) % 3);
      }
    }
  }
  tensor_view all() const { return {rows.data(), shape(static_cast<int>(rows.size() / 2), 2)}; }
  series_view series() const { return {.name = "input", .values = series_of(all(), lengths)}; }
  series_view tags() const {
    tensor_view const flat{step_labels.data(), shape(static_cast<int>(step_labels.size()))};
    return {.name = "tag", .values = series_of(flat, lengths), .classes = 3};
  }
  array_view target() const {
    return {.name = "label", .values = {labels.data(), shape(static_cast<int>(labels.size()))}, .classes = 2};
  }
};

using numbers = std::vector<float>;
template <class T = float>
std::vector<T> of(tensor_view view) {
  auto const all = view.as<T const>();
  return {all.begin(), all.end()};
}
batch const& whole(loader& batches) { return *batches.next(); }

TEST(sequences, are_padded_with_zeros_and_have_a_mask) {
  ragged const made(3);
  dataset const data = sequences(made.series(), made.target());
  EXPECT_EQ(data.describe().inputs[0].example, shape(3, 2));
  EXPECT_EQ(data.describe().inputs[0].mask, 0);
  EXPECT_EQ(data.describe().targets[0].mask, -1);
  loader batches(data, {.shuffle = false});
  batch const& b = whole(batches);
  EXPECT_EQ(of(b.input()), (numbers{0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 2, 0, 2, 1, 2, 2}));
  EXPECT_EQ(of<std::uint8_t>(b.mask()), (std::vector<std::uint8_t>{1, 0, 0, 1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(of<std::int32_t>(b.target()), (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(data.length(2), 3);
}

TEST(sequences, have_a_fixed_length_if_it_is_set) {
  ragged const made(2);
  dataset const data = sequences(made.series(), made.tags(), {.length = 4});
  EXPECT_EQ(data.describe().inputs[0].example, shape(4, 2));
  EXPECT_EQ(data.describe().targets[0].example, shape(4));
  EXPECT_EQ(data.describe().targets[0].mask, 0);
  loader batches(data, {.shuffle = false});
  batch const& b = whole(batches);
  EXPECT_EQ(of<std::int32_t>(b.target()), (std::vector<std::int32_t>{0, 0, 0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(of<std::uint8_t>(b.mask()), (std::vector<std::uint8_t>{1, 0, 0, 0, 1, 1, 0, 0}));
}

TEST(sequences, of_integers_are_indices_and_of_floats_have_a_single_channel) {
  std::int64_t const words[]{3, 1, 4};
  double const heights[]{0.5, -1, 2};
  int const lengths[]{1, 2};
  dataset const indices = sequences({.values = series_of({words, shape(3)}, lengths)},
                                    series_view{.values = series_of({heights, shape(3)}, lengths)});
  data_description const& d = indices.describe();
  EXPECT_EQ(d.inputs[0].example, shape(2));
  EXPECT_EQ(d.inputs[0].type, element_type::i32);
  EXPECT_EQ(d.inputs[0].features, feature_axis::none);
  EXPECT_EQ(d.targets[0].example, shape(2, 1));
  EXPECT_EQ(d.targets[0].type, element_type::f64);
  loader batches(indices, {.shuffle = false});
  batch const& b = whole(batches);
  EXPECT_EQ(of<std::int32_t>(b.input()), (std::vector<std::int32_t>{3, 0, 1, 4}));
  EXPECT_EQ(of<double>(b.target()), (std::vector<double>{0.5, 0, -1, 2}));
}

TEST(sequences, preserve_lengths_and_masks_in_views) {
  ragged const made(6);
  dataset const data = sequences(made.series(), made.target());
  dataset const some = select(concat({data, data}), {7, 3, 0});
  EXPECT_EQ(some.length(0), 2);
  EXPECT_EQ(some.length(1), 4);
  EXPECT_EQ(normalised(some, fit_normalisation(some)).length(1), 4);
  EXPECT_EQ(dataset(weighted_by_class(sequences(made.series(), made.target()), {1, 2})).length(3), 4);
  loader batches(some, {.shuffle = false});
  EXPECT_EQ(of<std::uint8_t>(whole(batches).mask()),
            (std::vector<std::uint8_t>{1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0}));
}

TEST(sequences, exclude_padding_from_normalisation) {
  float const rows[]{1, 10, 3, 30, 2, 80};
  int const lengths[]{2, 1};
  std::int32_t const labels[]{0, 1};
  dataset const data = sequences({.values = series_of({rows, shape(3, 2)}, lengths)},
                                 array_view{.name = "label", .values = {labels, shape(2)}, .classes = 2});
  normalisation const how = fit_normalisation(data, {.inputs = rescaling::min_max});
  ASSERT_EQ(how.inputs[0].size(), 2U) << "one map per channel";
  EXPECT_EQ(how.inputs[0][0], channel_scaling::from(1, 2));
  EXPECT_EQ(how.inputs[0][1], channel_scaling::from(10, 70));
  loader batches(normalised(data, how), {.shuffle = false});
  numbers const got = of(whole(batches).input());
  EXPECT_FLOAT_EQ(got[2], 1);
  EXPECT_FLOAT_EQ(got[3], 20.0F / 70);
  EXPECT_FLOAT_EQ(got[4], 0.5F);
  EXPECT_FLOAT_EQ(got[5], 1);
  normalisation const standard = fit_normalisation(data);
  EXPECT_NEAR(standard.inputs[0][0].scale, 1 / std::sqrt(2.0 / 3), 1e-12);
  EXPECT_NEAR(standard.inputs[0][1].offset / standard.inputs[0][1].scale, -40, 1e-12);
}

TEST(sequences, refuse_inconsistent_lengths_and_labels) {
  ragged const made(4);
  std::vector<int> lengths{1, 2, 3, 5};
  expect_parts(
      refused<shape_error>([&] { series_of(made.all(), lengths); }),
      {"the series have more rows than the tensor", "series 3", "at most the remaining 4 of 10 rows", "5"});
  lengths.resize(2);
  expect_parts(refused<shape_error>([&] { series_of(made.all(), lengths); }),
               {"the series have fewer rows than the tensor", "10 rows in all series", "3"});
  expect_parts(refused<setting_error>([&] { sequences(made.series(), made.target(), {.length = 3}); }),
               {"a series is longer than the sequences of the data set", "input, series 3",
                "at most 3 steps (length; 0 is the length of the longest series)", "4"});
  expect_parts(refused<shape_error>([&] { sequences({}, made.target()); }), {"a data set has no series"});
  ragged const other(5);
  expect_parts(refused<shape_error>([&] { sequences(made.series(), other.target()); }),
               {"the numbers of series and targets differ", "label", "4 targets", "5"});
  expect_parts(refused<shape_error>([&] { sequences(made.series(), other.tags()); }),
               {"the numbers of series and targets differ", "tag", "4 targets", "5"});
  series_view wrong = made.series();
  std::swap(wrong.values[0], wrong.values[3]);
  expect_parts(refused<shape_error>([&] { sequences(wrong, made.tags()); }),
               {"a series and its targets have different numbers of steps", "tag, series 0", "4 steps", "1"});
  wrong = made.series();
  wrong.values[1] = {made.rows.data(), shape(1, 3)};
  expect_parts(
      refused<shape_error>([&] { sequences(wrong, made.target()); }),
      {"the series differ in their channels or types", "input, series 1", "Tx2 of f32", "1x3 of f32"});
  wrong.values[1] = {made.rows.data(), shape(0, 2)};
  expect_parts(refused<shape_error>([&] { sequences(wrong, made.target()); }),
               {"a series is empty", "input, series 1", "T x C or T of at least 1 element", "0x2"});
  ragged bad(4);
  bad.rows[11] = HUGE_VALF;
  expect_parts(
      refused<data_error>([&] { sequences(bad.series(), bad.target()); }),
      {"the data contains a number that is not finite", "input, series 2, step 2", "a finite number"});
  bad = ragged(4);
  bad.step_labels[2] = 3;
  expect_parts(refused<data_error>([&] { sequences(bad.series(), bad.tags()); }),
               {"a class label is out of range", "tag, series 1, step 1", "0 to 2", "3"});
  series_view labels = made.series();
  labels.classes = 2;
  expect_parts(refused<shape_error>([&] { sequences(made.series(), labels); }),
               {"class labels are not integers, one per step", "T of u8, i32 or i64", "1x2 of f32"});
}

TEST(sequences, with_a_label_per_step_cannot_be_stratified_or_weighted_by_class) {
  ragged const made(8);
  sequences const data(made.series(), made.tags());
  expect_parts(
      refused<setting_error>([&] {
        split(data, {0.5, 0.5}, {.stratified = true});
      }),
      {"cannot stratify", "a data set whose first target is one class label", "a class label per step"});
  expect_parts(refused<setting_error>([&] {
                 weighted_by_class(data, {1, 1, 1});
               }),
               {"cannot weight examples by class", "one class label", "a class label per step"});
}

/// Lengths of the examples of an epoch, in the order of a loader.
std::vector<int> lengths_in_order(dataset const& data, loader_settings const& how, std::int64_t epoch = 0,
                                  std::int64_t position = 0) {
  loader batches(data, how);
  std::vector<int> found;
  batches.start(epoch, position);
  while (batch const* const b = batches.next())
    for (std::int64_t const i : b->indices) found.push_back(*data.length(i));
  return found;
}

TEST(bucket, groups_examples_of_similar_length) {
  ragged const made(400);
  dataset const data = sequences(made.series(), made.target());
  auto const changes = [](std::vector<int> const& lengths) {
    int count = 0;
    for (std::size_t i = 1; i < lengths.size(); ++i) count += lengths[i] != lengths[i - 1];
    return count;
  };
  std::vector<int> const plain = lengths_in_order(data, {.batch = 10}),
                         sorted = lengths_in_order(data, {.batch = 10, .bucket = 100});
  EXPECT_GT(changes(plain), 200);
  EXPECT_LE(changes(sorted), 4 * 5) << "at most four lengths and a rotation in each bucket";
  EXPECT_EQ(std::ranges::count(sorted, 3), 100);
  EXPECT_NE(sorted, lengths_in_order(data, {.batch = 10, .bucket = 100}, 1));
}

TEST(bucket, has_an_order_that_does_not_depend_on_batch_size_and_ranks) {
  ragged const made(103);
  dataset const data = sequences(made.series(), made.target());
  auto const order = [&](int batch, int ranks, std::int64_t position = 0) {
    std::vector<std::vector<std::int64_t>> of_rank(static_cast<std::size_t>(ranks));
    std::vector<std::int64_t> all;
    std::vector<std::unique_ptr<loader>> loaders;
    for (int r = 0; r < ranks; ++r) {
      loaders.push_back(std::make_unique<loader>(
          data, loader_settings{.batch = batch, .rank = r, .ranks = ranks, .seed = 4, .bucket = 32}));
      loaders.back()->start(3, position);
    }
    for (bool more = true; more;) {
      for (auto& one : loaders) {
        struct batch const* const b = one->next();
        more = b != nullptr;
        if (b) all.insert(all.end(), b->indices.begin(), b->indices.end());
      }
    }
    return all;
  };
  std::vector<std::int64_t> const once = order(8, 1);
  EXPECT_EQ(once, order(5, 1));
  EXPECT_EQ(once, order(4, 3));
  std::vector<std::int64_t> const rest(once.begin() + 24, once.end());
  EXPECT_EQ(rest, order(4, 2, 24)) << "resumed on another number of ranks";
  std::vector<std::int64_t> sorted = once;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, epoch_order(0, 0, 103, false)) << "each example once";
}

TEST(bucket, refuses_invalid_settings) {
  ragged const made(4);
  dataset const data = sequences(made.series(), made.target());
  expect_parts(refused<setting_error>([&] { loader(data, {.bucket = -1}); }),
               {"invalid loader settings", "bucket", "at least 0", "-1"});
  expect_parts(refused<setting_error>([&] { loader(data, {.shuffle = false, .bucket = 8}); }),
               {"bucket", "0 without shuffle", "8"});
  expect_parts(refused<setting_error>([&] { loader(view_cases::numbers(4), {.bucket = 8}); }),
               {"bucket", "0, because the data set has no sequences of different lengths", "8"});
}

}  // namespace sequences_test
