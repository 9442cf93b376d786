// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/random/stream.hpp>
#include <set>
#include <vector>

namespace stream_test {

using cohort::random_stream;

TEST(philox, returns_the_published_known_answers) {
  using words = cohort::detail::philox_words;
  EXPECT_EQ(cohort::detail::philox(0, 0, 0), (words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(cohort::detail::philox(~0ULL, ~0ULL, ~0ULL),
            (words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(cohort::detail::philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822),
            (words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(random_stream, returns_the_same_value_in_any_order) {
  random_stream const stream(123, cohort::detail::purpose_of("fc1", "weights"));
  std::vector<float> forwards;
  std::vector<float> backwards(100);
  for (int i = 0; i < 100; ++i) forwards.push_back(stream.normal(i));
  for (int i = 99; i >= 0; --i)
    backwards[i] = random_stream(123, cohort::detail::purpose_of("fc1", "weights")).normal(i);
  EXPECT_EQ(forwards, backwards);
}

TEST(random_stream, returns_different_values_for_different_keys) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (char const* purpose : {"order", "dropout", "weights"})
      for (std::uint64_t step = 0; step < 4; ++step)
        for (std::uint64_t index = 0; index < 4; ++index)
          for (std::uint64_t i = 0; i < 8; ++i)
            seen.insert(random_stream(seed, purpose, step, index).bits(i));
  EXPECT_EQ(seen.size(), 4u * 3 * 4 * 4 * 8);
}

TEST(random_stream, at_moves_to_another_index_of_the_same_key) {
  random_stream const stream(7, "dropout", 3);
  EXPECT_EQ(stream.at(5).bits(9), random_stream(7, "dropout", 3, 5).bits(9));
}

TEST(random_stream, has_fixed_numbers_across_versions) {
  random_stream const stream(123, "golden", 4, 5);
  EXPECT_EQ(stream.bits(2), 0xc42135527672601aU);
  EXPECT_EQ(stream.bits(3), 0xd806f179aaa5a6d1U);
  EXPECT_EQ(stream.uniform01(2), 0x1.88426ap-1F);
  EXPECT_NEAR(stream.normal<double>(2), 0x1.9face833bfb7bp-2, 1e-15);
}

template <class Draw>
std::pair<double, double> moments(int n, Draw draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    double const x = draw(i);
    sum += x;
    squares += x * x;
  }
  return {sum / n, squares / n - sum / n * (sum / n)};
}

TEST(random_stream, uniforms_have_their_mean_and_variance_and_never_reach_one) {
  random_stream const stream(1, "uniform");
  int const n = 200'000;
  double largest = 0;
  auto const [mean, variance] = moments(n, [&](int i) {
    largest = std::max<double>(largest, stream.uniform01(i));
    return stream.uniform01(i);
  });
  EXPECT_LT(largest, 1);
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1 / 12.0 / n));
  EXPECT_NEAR(variance, 1 / 12.0, 1e-3);
  EXPECT_NEAR(stream.uniform01<double>(17), stream.uniform01<float>(17), 1e-7);
}

TEST(random_stream, normals_have_their_moments_and_tails) {
  random_stream const stream(1, "normal");
  int const n = 200'000;
  int beyond_two = 0;
  double products = 0;
  auto const [mean, variance] = moments(n, [&](int i) {
    double const x = stream.normal<double>(i);
    beyond_two += std::abs(x) > 2;
    products += x * stream.normal<double>(i ^ 1);
    return x;
  });
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(variance, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(beyond_two / double(n), 0.0455, 0.0025);
  EXPECT_NEAR(products / n, 0, 8 / std::sqrt(n));
}

TEST(random_stream, below_is_uniform) {
  random_stream const stream(9, "below");
  std::vector<int> hits(7);
  for (int i = 0; i < 70'000; ++i) ++hits.at(stream.below(i, 7));
  for (int const h : hits) EXPECT_NEAR(h, 10'000, 500);
}

}  // namespace stream_test
