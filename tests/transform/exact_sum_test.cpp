// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/transform/detail/exact_sum.hpp>
#include <limits>
#include <random>
#include <vector>

namespace exact_sum_test {

using namespace cohort;
using detail::exact_sum;

double value(detail::scaled_number one) { return std::ldexp(one.fraction, one.exponent); }

exact_sum sum_of(std::vector<double> const& numbers) {
  exact_sum sum;
  for (double const one : numbers) sum.add(one);
  return sum;
}

exact_sum squares_of(std::vector<double> const& numbers) {
  exact_sum sum;
  for (double const one : numbers) sum.add_square(one);
  return sum;
}

TEST(exact_sum, rounds_only_once) {
  EXPECT_EQ(value(sum_of({}).rounded()), 0);
  EXPECT_EQ(value(sum_of({0.1}).rounded()), 0.1);
  EXPECT_EQ(value(sum_of({-0.1}).rounded()), -0.1);
  EXPECT_EQ(value(sum_of({1e100, 1, -1e100}).rounded()), 1);
  EXPECT_EQ(value(sum_of({1, 1e100, 1, -1e100}).rounded()), 2);
  EXPECT_EQ(value(sum_of({-1e100, -1, 1e100}).rounded()), -1);
  // 2^53 + 1 is midway between two doubles: rounded to even, and up if anything is added.
  EXPECT_EQ(value(sum_of({9007199254740992, 1}).rounded()), 9007199254740992);
  EXPECT_EQ(value(sum_of({9007199254740992, 1, 1e-300}).rounded()), 9007199254740994);
  EXPECT_EQ(value(sum_of({9007199254740994, 1}).rounded()), 9007199254740996);
  double const least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  EXPECT_EQ(value(sum_of({least}).rounded()), least);
  EXPECT_EQ(value(sum_of({most, least, -most}).rounded()), least);
  detail::scaled_number const beyond = sum_of({most, most, most, most}).rounded();  // above the range of f64
  EXPECT_EQ(std::ldexp(beyond.fraction, beyond.exponent - 2), most);
}

TEST(exact_sum, adds_squares_of_all_magnitudes) {
  double const least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  for (double const one : {3.0, -0.1, 1e-200, 1e200, least, most}) {
    detail::scaled_number const square = squares_of({one}).rounded();
    int exponent = 0;
    double const fraction = std::frexp(one, &exponent);
    EXPECT_EQ(std::ldexp(square.fraction, square.exponent - 2 * exponent), fraction * fraction) << one;
  }
}

TEST(exact_sum, is_independent_of_order_and_partition) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<double> numbers;
    for (int i = 0; i < 200; ++i) {
      double const one = std::bit_cast<double>(random());
      if (std::isfinite(one)) numbers.push_back(one);
    }
    auto const whole = sum_of(numbers).rounded();
    auto const whole_squares = squares_of(numbers).rounded();
    auto const spread = sum_of(numbers).spread(numbers.size(), squares_of(numbers));
    std::ranges::shuffle(numbers, random);
    std::size_t const cut = random() % numbers.size();
    std::vector<double> const first(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(cut)),
        second(numbers.begin() + static_cast<std::ptrdiff_t>(cut), numbers.end());
    exact_sum parts = sum_of(first), squares = squares_of(first);
    parts.merge(sum_of(second));
    squares.merge(squares_of(second));
    EXPECT_EQ(parts.rounded().fraction, whole.fraction);
    EXPECT_EQ(parts.rounded().exponent, whole.exponent);
    EXPECT_EQ(squares.rounded().fraction, whole_squares.fraction);
    EXPECT_EQ(parts.spread(numbers.size(), squares).fraction, spread.fraction);
    EXPECT_EQ(parts.spread(numbers.size(), squares).exponent, spread.exponent);
  }
}

TEST(exact_sum, computes_the_spread_without_cancellation) {
  // Variance 2/3 at a mean of 1e15: a difference of rounded squares would have no correct digit.
  std::vector<double> const far{1e15, 1e15 + 1, 1e15 + 2};
  EXPECT_EQ(value(sum_of(far).spread(3, squares_of(far))), 6);
  std::vector<double> const equal{0.1, 0.1, 0.1};
  EXPECT_EQ(value(sum_of(equal).spread(3, squares_of(equal))), 0);
  std::vector<double> const signs{-1, 1, -3, 5};
  EXPECT_EQ(value(sum_of(signs).spread(4, squares_of(signs))), 4 * 36 - 4);
}

TEST(exact_sum, round_trips_through_bytes) {
  exact_sum sum = sum_of({1e-300, -7, 1e300, -1e250});
  detail::byte_writer out;
  sum.write(out);
  sum_of({}).write(out);
  sum_of({-3}).write(out);
  std::vector<std::byte> const bytes = out.release();
  detail::byte_reader in(bytes, "rank 1");
  exact_sum const again = exact_sum::read(in);
  EXPECT_EQ(again.rounded().fraction, sum.rounded().fraction);
  EXPECT_EQ(again.rounded().exponent, sum.rounded().exponent);
  EXPECT_EQ(value(exact_sum::read(in).rounded()), 0);
  EXPECT_EQ(value(exact_sum::read(in).rounded()), -3);
  in.end();
}

TEST(exact_sum, rejects_malformed_bytes) {
  auto const refused = [](std::vector<std::uint64_t> const& words) {
    detail::byte_writer out;
    for (std::uint64_t const word : words) out.word(word);
    std::vector<std::byte> const bytes = out.release();
    detail::byte_reader in(bytes, "rank 1");
    try {
      exact_sum::read(in);
      in.end();
    } catch (data_error const& why) {
      return std::string(why.what()).starts_with("a message of another rank is malformed (rank 1, byte ");
    }
    return false;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({136, 0}));
  EXPECT_TRUE(refused({1, 135}));
  EXPECT_TRUE(refused({0, 2, 1}));
  EXPECT_TRUE(refused({0, 1, std::uint64_t{1} << 32}));
  EXPECT_TRUE(refused({0, 0, 0}));
}

}  // namespace exact_sum_test
