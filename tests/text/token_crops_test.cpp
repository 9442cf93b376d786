// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/data/example_view.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/text/token_crops.hpp>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace token_crops_test {

using namespace cohort;

using tokens = std::vector<std::int32_t>;

token_stream counting(int size) {
  tokens made(static_cast<std::size_t>(size));
  std::iota(made.begin(), made.end(), 0);
  return token_stream(std::move(made));
}

/// Part `part` of crop i in an epoch.
tokens part_of(dataset const& crops, std::int64_t i, std::size_t part, std::int64_t epoch = 0) {
  example_view view;
  view.allocate(crops.describe());
  view.epoch = epoch;
  crops.get(i, view);
  tokens made(static_cast<std::size_t>(crops.describe().part(part).example.elements()));
  std::memcpy(made.data(), view.at(part), made.size() * sizeof made[0]);
  return made;
}

std::string refused(token_stream const& stream, crop_settings const& settings) {
  try {
    dataset const crops = token_crops(stream, settings);
    part_of(crops, 0, 0);
  } catch (error const& problem) {
    return problem.what();
  }
  return "nothing thrown";
}

TEST(token_crops, with_a_fixed_offset_are_consecutive) {
  dataset const crops = token_crops(counting(10), {.length = 3, .vocabulary = 10, .fixed = true});
  ASSERT_EQ(crops.size(), 3);
  EXPECT_EQ(part_of(crops, 0, 0), (tokens{0, 1, 2}));
  EXPECT_EQ(part_of(crops, 2, 0), (tokens{6, 7, 8}));
  EXPECT_EQ(part_of(crops, 2, 1), (tokens{7, 8, 9}));
  EXPECT_EQ(part_of(crops, 2, 0, 5), (tokens{6, 7, 8}));
}

TEST(token_crops, describe_indices_and_class_labels) {
  data_description const what =
      token_crops(counting(10), {.length = 3, .vocabulary = 12, .fixed = true}).describe();
  EXPECT_EQ(what.inputs[0].name, "tokens");
  EXPECT_EQ(what.inputs[0].type, element_type::i32);
  EXPECT_EQ(what.targets[0].classes, 12);
  EXPECT_EQ(what.targets[0].example, shape(3));
}

TEST(token_crops, begin_at_another_offset_in_each_epoch_and_read_no_token_twice) {
  constexpr int length = 7;
  dataset const crops = token_crops(counting(100), {.length = length, .vocabulary = 100});
  ASSERT_EQ(crops.size(), (100 - length) / length);
  std::set<int> offsets;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    tokens read;
    for (std::int64_t i = 0; i < crops.size(); ++i)
      for (int const token : part_of(crops, i, 0, epoch)) read.push_back(token);
    offsets.insert(read[0]);
    for (std::size_t k = 1; k < read.size(); ++k) EXPECT_EQ(read[k], read[k - 1] + 1);
    EXPECT_LT(read.back() + 1, 100);  // its next token exists
  }
  EXPECT_EQ(offsets.size(), static_cast<std::size_t>(length));
  EXPECT_EQ(*offsets.rbegin(), length - 1);
}

TEST(token_crops, depend_only_on_seed_and_epoch) {
  auto const first = [](std::uint64_t seed, std::int64_t epoch) {
    return part_of(token_crops(counting(1000), {.length = 100, .vocabulary = 1000, .seed = seed}), 2, 1,
                   epoch);
  };
  EXPECT_EQ(first(1, 3), first(1, 3));
  EXPECT_NE(first(1, 3), first(1, 4));
  EXPECT_NE(first(1, 3), first(2, 3));
}

TEST(token_crops, refuse_invalid_settings_and_tokens) {
  EXPECT_EQ(refused(counting(10), {.vocabulary = 10}),
            "invalid settings of token_crops (length): expected at least 1, got 0");
  EXPECT_EQ(refused(counting(10), {.length = 2}),
            "invalid settings of token_crops (vocabulary): expected the number of tokens, at least 1, got 0");
  EXPECT_EQ(refused(counting(10), {.length = 10, .vocabulary = 10, .fixed = true}),
            "invalid settings of token_crops (length): expected a stream of at least 11 tokens, got 10");
  EXPECT_EQ(refused(counting(11), {.length = 6, .vocabulary = 11}),
            "invalid settings of token_crops (length): expected a stream of at least 12 tokens, got 11");
  EXPECT_EQ(refused(token_stream(tokens{}), {.length = 1, .vocabulary = 1, .fixed = true}),
            "invalid settings of token_crops (length): expected a stream of at least 2 tokens, got 0");
  EXPECT_EQ(refused(counting(12), {.length = 6, .vocabulary = 6, .fixed = true}),
            "a token is outside the vocabulary (token 6 of the stream): expected 0 to 5, got 6");
  EXPECT_EQ(refused(counting(12), {.length = 6, .vocabulary = 12}), "nothing thrown");
}

}  // namespace token_crops_test
