// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/weighted_by_class.hpp>
#include <limits>
#include <vector>

#include "refused.hpp"

namespace weighted_by_class_test {

using namespace cohort;
using weights = std::vector<float>;

std::vector<float> const pixels{1, 2, 3, 4, 5, 6};

template <class E>
std::vector<float> weights_of(std::vector<E> const& labels) {
  loader batches(weighted_by_class(arrays(pixels, {1}, labels, 3), {0.5F, 1, 4}),
                 {.batch = 4, .shuffle = false});
  weights seen;
  for (batch const* b = batches.next(); b; b = batches.next())
    seen.insert(seen.end(), b->weights.begin(), b->weights.end());
  return seen;
}

TEST(weighted_by_class, weights_each_example_by_its_label) {
  weights const wanted{4, 0.5F, 1, 0.5F, 4, 1};
  EXPECT_EQ(weights_of(std::vector<std::uint8_t>{2, 0, 1, 0, 2, 1}), wanted);
  EXPECT_EQ(weights_of(std::vector<std::int32_t>{2, 0, 1, 0, 2, 1}), wanted);
  EXPECT_EQ(weights_of(std::vector<std::int64_t>{2, 0, 1, 0, 2, 1}), wanted);
}

TEST(weighted_by_class, balances_the_classes_that_occur) {
  std::vector<std::int32_t> const labels{2, 0, 2, 2, 2, 0};
  auto const balanced = weighted_by_class(arrays(pixels, {1}, labels, 4));
  loader batches(balanced, {.batch = 6, .shuffle = false});
  EXPECT_EQ(batches.next()->weights, (weights{0.75F, 1.5F, 0.75F, 0.75F, 0.75F, 1.5F}));
  dataset const view = select(arrays(pixels, {1}, labels, 4), {0, 1});
  loader two(weighted_by_class(view), {.batch = 2, .shuffle = false});
  EXPECT_EQ(two.next()->weights, (weights{1, 1}));
  auto const some = weighted_by_class(arrays(pixels, {1}, labels, 4), {0, 1, 1, 1});
  loader counted(weighted_by_class(some), {.batch = 6, .shuffle = false});
  for (float const weight : counted.next()->weights) EXPECT_TRUE(weight == 0 || weight == 1) << weight;
}

TEST(weighted_by_class, preserves_inputs_targets_and_size) {
  std::vector<std::int32_t> const labels{2, 0, 1, 0, 2, 1};
  auto const made = weighted_by_class(arrays(pixels, {1}, labels, 3), {1, 2, 3});
  EXPECT_TRUE(made.describe().weighted);
  EXPECT_EQ(made.size(), 6);
  loader batches(made, {.batch = 6, .shuffle = false});
  batch const* const b = batches.next();
  EXPECT_EQ(b->input().as<float>()[4], 5);
  EXPECT_EQ(b->target().as<std::int32_t>()[4], 2);
}

TEST(weighted_by_class, multiplies_existing_weights) {
  std::vector<std::int32_t> const labels{0, 1, 0, 1, 0, 1};
  auto const twice = weighted_by_class(weighted_by_class(arrays(pixels, {1}, labels, 2), {1, 3}), {0.5F, 2});
  example_view one;
  one.allocate(twice.describe());
  for (int i : {0, 1, 0, 1}) {
    twice.get(i, one);
    EXPECT_EQ(one.weight, i == 0 ? 0.5F : 6.0F);
  }
}

TEST(weighted_by_class, weights_the_examples_of_a_view) {
  std::vector<std::int32_t> const labels{2, 0, 1, 0, 2, 1};
  dataset const data = arrays(pixels, {1}, labels, 3);
  loader batches(weighted_by_class(select(data, {4, 1}), {0.5F, 1, 4}), {.batch = 2, .shuffle = false});
  EXPECT_EQ(batches.next()->weights, (weights{4, 0.5F}));
}

/// A label out of range, which `arrays` would have rejected.
struct wrong_label {
  data_description what = [] {
    data_description made;
    made.inputs = {{.name = "x", .example = {1}}};
    made.targets = {{.name = "label", .stored = element_type::i32, .type = element_type::i32, .classes = 2}};
    return made;
  }();
  data_description const& describe() const { return what; }
  std::int64_t size() const { return 9; }
  void get(std::int64_t i, example_view& out) const {
    *out.fill<float>(0) = 0;
    *out.fill<std::int32_t>(1) = static_cast<std::int32_t>(i) - 1;
  }
};

TEST(weighted_by_class, reports_the_example_with_an_invalid_label) {
  auto const made = weighted_by_class(wrong_label{}, {1, 1});
  example_view one;
  one.allocate(made.describe());
  made.get(2, one);
  EXPECT_EQ(refused<data_error>([&] { made.get(3, one); }),
            "a class label is out of range (label, example 3): expected 0 to 1, got 2");
  EXPECT_NE(refused<data_error>([&] { made.get(0, one); }).find("example 0): expected 0 to 1, got -1"),
            std::string::npos);
}

TEST(weighted_by_class, refuses_weights_that_do_not_match_the_classes) {
  std::vector<std::int32_t> const labels{0, 1, 0, 1, 0, 1};
  arrays const data(pixels, {1}, labels, 2);
  EXPECT_EQ(refused<setting_error>([&] {
              weighted_by_class(data, {1, 2, 3});
            }),
            "cannot weight examples by class (weighted_by_class): expected 2 weights, one per class, got 3");
  for (float const wrong :
       {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    expect_parts(refused<setting_error>([&] {
                   weighted_by_class(data, {1, wrong});
                 }),
                 {"finite weights of at least 0"});
  arrays const without({array_view{.values = {pixels.data(), {6, 1}}}});
  expect_parts(refused<setting_error>([&] { weighted_by_class(without, {1}); }),
               {"a class label, got no class label"});
}

}  // namespace weighted_by_class_test
