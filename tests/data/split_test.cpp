// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/data/select.hpp>
#include <cohort/data/split.hpp>

#include "view_cases.hpp"

namespace split_test {

using namespace view_cases;

/// All parts' examples, sorted.
values together(std::vector<dataset> const& parts) {
  values all;
  for (dataset const& part : parts) {
    values const some = read(part).first;
    EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::array<int, 3> per_class(dataset const& data) {
  std::array<int, 3> counts{};
  for (std::int32_t const label : read(data).labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

TEST(split, divides_the_examples_without_repetition) {
  for (bool const stratified : {false, true})
    for (int const size : {2, 3, 10, 97})
      for (double const fraction : {0.5, 0.67, 0.4}) {
        dataset const data = numbers(size);
        auto const [training, held_out] = split(data, fraction, {.seed = 1, .stratified = stratified});
        EXPECT_EQ(training.size(), std::floor(fraction * size + 0.5)) << size << ' ' << fraction;
        EXPECT_EQ(together({training, held_out}), read(data).first);
        EXPECT_TRUE(training.model().in_memory());
      }
}

TEST(split, is_random_and_depends_on_the_seed_only) {
  auto const held_out = [](std::uint64_t seed) {
    return read(split(numbers(40), 0.75, {.seed = seed}).held_out).first;
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
  values last(10);
  std::iota(last.begin(), last.end(), 30.0F);
  EXPECT_NE(held_out(1), last);
  // Each example is held out by about a quarter of the seeds.
  std::array<int, 40> times{};
  for (std::uint64_t seed = 0; seed < 400; ++seed)
    for (float const i : held_out(seed)) ++times[static_cast<std::size_t>(i)];
  EXPECT_GT(*std::ranges::min_element(times), 60);
  EXPECT_LT(*std::ranges::max_element(times), 140);
}

TEST(split, preserves_class_proportions_if_stratified) {
  // Classes of 60, 30 and 10 examples.
  indices order;
  for (std::int64_t i = 0; i < 60; ++i) order.push_back(3 * i);
  for (std::int64_t i = 0; i < 30; ++i) order.push_back(3 * i + 1);
  for (std::int64_t i = 0; i < 10; ++i) order.push_back(3 * i + 2);
  for (dataset const& data : {select(numbers(200), order), select(weighted(200), order)}) {
    auto const [training, held_out] = split(data, 0.7, {.seed = 5, .stratified = true});
    EXPECT_EQ(per_class(training), (std::array{42, 21, 7}));
    EXPECT_EQ(per_class(held_out), (std::array{18, 9, 3}));
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto const parts =
        per_class(split(select(numbers(200), order), 0.33, {.seed = seed, .stratified = true}).training);
    EXPECT_EQ(parts[0] + parts[1] + parts[2], 33);
    EXPECT_NEAR(parts[0], 19.8, 0.999);
    EXPECT_NEAR(parts[1], 9.9, 0.999);
    EXPECT_NEAR(parts[2], 3.3, 0.999);
  }
}

TEST(split, returns_a_part_per_fraction) {
  for (bool const stratified : {false, true}) {
    std::vector<dataset> const parts =
        split(numbers(90), {0.5, 0.3, 0.2}, {.seed = 2, .stratified = stratified});
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[0].size(), 45);
    EXPECT_EQ(parts[1].size(), 27);
    EXPECT_EQ(parts[2].size(), 18);
    EXPECT_EQ(together(parts), read(numbers(90)).first);
    if (stratified) {
      for (int const count : per_class(parts[1])) EXPECT_EQ(count, 9);
    }
  }
}

TEST(split, keeps_weights_and_keys) {
  content const got = read(split(weighted(10), 0.5).training);
  ASSERT_EQ(got.first.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(got.weights[i], got.first[i] + 1);
    EXPECT_EQ(got.keys[i], "k" + std::to_string(static_cast<int>(got.first[i])));
  }
}

TEST(split, refuses_invalid_fractions) {
  for (double const wrong : {0.0, 1.0, -0.5, 80.0, std::nan("")})
    expect_parts(refused<setting_error>([&] { split(numbers(9), wrong); }), {"split", "between 0 and 1"});
  expect_parts(refused<setting_error>([] { split(numbers(9), {0.5, 0.2}); }), {"add up to 1", "got 0.7"});
  expect_parts(refused<setting_error>([] { split(numbers(9), std::vector<double>{}); }), {"add up to 1"});
  expect_parts(refused<setting_error>([] { split(numbers(9), 0.01); }),
               {"fraction 0.01", "none of 9 examples"});
  EXPECT_THROW(split(numbers(1), 0.5), setting_error);
}

TEST(split, refuses_to_stratify_without_labels) {
  std::vector<float> const x{1, 2, 3, 4};
  dataset const data = arrays({array_view{.name = "x", .values = {x.data(), {4, 1}}}});
  expect_parts(refused<setting_error>([&] { split(data, 0.5, {.stratified = true}); }),
               {"cannot stratify", "no class label"});
}

/// A data set whose third label is wrong.
struct mislabelled : computed {
  mislabelled() : computed(9, 3, nullptr) {}
  void get(std::int64_t i, example_view& out) const {
    computed::get(i, out);
    if (i == 2) *out.fill<std::int32_t>(1) = 3;
  }
};

TEST(split, reports_the_example_with_an_invalid_label) {
  expect_parts(refused<data_error>([&] { split(mislabelled(), 0.5, {.stratified = true}); }),
               {"label, example 2", "0 to 2", "got 3"});
}

TEST(split, checks_its_settings_before_it_reads_labels) {
  EXPECT_THROW(split(mislabelled(), 1.5, {.stratified = true}), setting_error);
  EXPECT_THROW(k_fold(mislabelled(), 1, {.stratified = true}), setting_error);
}

TEST(k_fold, uses_each_example_once_for_validation) {
  for (bool const stratified : {false, true}) {
    std::vector<data_split> const folds = k_fold(numbers(32), 5, {.seed = 3, .stratified = stratified});
    ASSERT_EQ(folds.size(), 5U);
    std::vector<dataset> held_out;
    for (data_split const& fold : folds) {
      EXPECT_EQ(together({fold.training, fold.held_out}), read(numbers(32)).first);
      EXPECT_NEAR(static_cast<double>(fold.held_out.size()), 6.4, 0.999);
      if (stratified) {
        for (int const count : per_class(fold.held_out)) EXPECT_NEAR(count, 32 / 15.0, 0.999);
      }
      held_out.push_back(fold.held_out);
    }
    EXPECT_EQ(together(held_out), read(numbers(32)).first);
  }
  EXPECT_NE(read(k_fold(numbers(32), 2, {.seed = 3})[0].held_out).first,
            read(k_fold(numbers(32), 2, {.seed = 4})[0].held_out).first);
}

TEST(k_fold, refuses_an_invalid_number_of_folds) {
  for (int const k : {-1, 0, 1, 10})
    expect_parts(refused<setting_error>([&] { k_fold(numbers(9), k); }),
                 {"k_fold, k", "2 to the number of examples, 9"});
}

TEST(split, refuses_streams) {
  expect_stream_is_refused("split", [](dataset const& data) { split(data, 0.5); });
  expect_stream_is_refused("k_fold", [](dataset const& data) { k_fold(data, 2); });
}

}  // namespace split_test
