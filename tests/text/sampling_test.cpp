// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/text/sampling.hpp>
#include <limits>
#include <string>
#include <vector>

namespace sampling_test {

using namespace cohort;

constexpr std::array<float, 4> probabilities = {0.1F, 0.5F, 0.15F, 0.25F};

/// How often each token is drawn.
std::array<double, 4> shares(sampling const& rules) {
  std::array<double, 4> found{};
  constexpr int draws = 40'000;
  random_stream const numbers(1, "sampling_test");
  for (int k = 0; k < draws; ++k)
    found[static_cast<std::size_t>(
        drawn_token(probabilities, rules, numbers, static_cast<std::uint64_t>(k)))] += 1.0 / draws;
  return found;
}

void expect_shares(sampling const& rules, std::array<double, 4> const& expected) {
  std::array<double, 4> const found = shares(rules);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(found[k], expected[k], 0.01) << k;  // four standard deviations
    EXPECT_EQ(found[k] == 0, expected[k] == 0) << k;
  }
}

std::string refused(std::vector<float> const& given, sampling const& rules) {
  try {
    drawn_token(given, rules, random_stream(1, "x"), 0);
  } catch (error const& problem) {
    return problem.what();
  }
  return "nothing thrown";
}

TEST(sampling, draws_in_proportion_to_the_probabilities) { expect_shares({}, {0.1, 0.5, 0.15, 0.25}); }

TEST(sampling, sharpens_the_distribution_at_temperatures_below_1) {
  double const a = 0.01, b = 0.25, c = 0.0225, d = 0.0625, sum = a + b + c + d;  // squares
  expect_shares({.temperature = 0.5}, {a / sum, b / sum, c / sum, d / sum});
  expect_shares({.temperature = 0}, {0, 1, 0, 0});
}

TEST(sampling, restricts_tokens_by_top_k_and_top_p) {
  expect_shares({.top_k = 2}, {0, 0.5 / 0.75, 0, 0.25 / 0.75});
  expect_shares({.top_k = 100}, {0.1, 0.5, 0.15, 0.25});
  expect_shares({.top_p = 0.45}, {0, 1, 0, 0});
  expect_shares({.top_p = 0.6}, {0, 0.5 / 0.75, 0, 0.25 / 0.75});
  expect_shares({.top_k = 3, .top_p = 0.9}, {0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9});
}

TEST(sampling, prefers_the_lower_of_equally_probable_tokens) {
  std::vector<float> const equal(5, 0.2F);
  EXPECT_EQ(drawn_token(equal, {.temperature = 0}, random_stream(1, "x"), 0), 0);
  EXPECT_EQ(drawn_token(equal, {.top_k = 1}, random_stream(1, "x"), 7), 0);
}

TEST(sampling, never_draws_a_token_of_probability_zero) {
  std::vector<float> const given = {0, 1e-30F, 0};
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(drawn_token(given, {}, random_stream(1, "x"), i), 1);
}

TEST(sampling, refuses_invalid_rules_and_probabilities) {
  EXPECT_EQ(refused({0.5F}, {.temperature = -1}),
            "a sampling rule is out of range (sampling.temperature): expected a finite number of at least 0, "
            "got -1");
  EXPECT_EQ(refused({0.5F}, {.top_k = -1}),
            "a sampling rule is out of range (sampling.top_k): expected at least 0, got -1");
  EXPECT_EQ(refused({0.5F}, {.top_p = 0}),
            "a sampling rule is out of range (sampling.top_p): expected above 0 and at most 1, got 0");
  EXPECT_EQ(
      refused({0.5F, NAN}, {}),
      "a probability is negative or not finite (token 1): expected a finite number of at least 0, got nan");
  EXPECT_EQ(
      refused({-0.5F}, {}),
      "a probability is negative or not finite (token 0): expected a finite number of at least 0, got -0.5");
  EXPECT_EQ(refused({0, 0}, {}),
            "no token has a probability above 0 (drawn_token): expected at least 1 token, got none of 2");
}

}  // namespace sampling_test
