// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/random/permutation.hpp>
#include <map>
#include <numeric>
#include <vector>

namespace permutation_test {

using cohort::random_permutation;
using cohort::random_stream;

std::vector<std::int64_t> elements(random_permutation const& permutation) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < permutation.size(); ++i) all.push_back(permutation[i]);
  return all;
}

TEST(random_permutation, contains_every_number_once) {
  for (std::int64_t const size : {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000, 1023, 1024, 1025, 4097}) {
    SCOPED_TRACE(size);
    std::vector<std::int64_t> all = elements({{7, "test"}, size});
    std::ranges::sort(all);
    for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
  }
}

TEST(random_permutation, depends_only_on_the_stream_and_the_size) {
  std::int64_t const size = 100;
  EXPECT_EQ(elements({{7, "test"}, size}), elements({{7, "test"}, size}));
  EXPECT_NE(elements({{7, "test"}, size}), elements({{8, "test"}, size}));
  EXPECT_NE(elements({{7, "test"}, size}), elements({{7, "test", 1}, size}));
}

TEST(random_permutation, of_three_elements_has_each_of_the_six_orders_equally_often) {
  std::map<std::vector<std::int64_t>, int> count;
  int const trials = 6000;
  for (int seed = 0; seed < trials; ++seed)
    ++count[elements({{static_cast<std::uint64_t>(seed), "test"}, 3})];
  ASSERT_EQ(count.size(), 6U);
  double chi_squared = 0;
  for (auto const& [order, times] : count) chi_squared += (times - 1000.0) * (times - 1000.0) / 1000;
  EXPECT_LT(chi_squared, 20.5);  // 5 degrees of freedom, p = 0.001; the seeds are fixed
}

TEST(random_permutation, has_each_number_at_each_place_equally_often) {
  int const size = 20, trials = 4000;
  std::vector<int> count(static_cast<std::size_t>(size * size));
  for (int seed = 0; seed < trials; ++seed) {
    random_permutation const permutation({static_cast<std::uint64_t>(seed), "test"}, size);
    for (int i = 0; i < size; ++i) ++count[static_cast<std::size_t>(i * size + permutation[i])];
  }
  double const expected = static_cast<double>(trials) / size;
  double chi_squared = 0;
  for (int const times : count) chi_squared += (times - expected) * (times - expected) / expected;
  EXPECT_LT(chi_squared, 448);  // 19² degrees of freedom, p = 0.001
}

TEST(random_permutation, has_neighbours_that_are_independent) {
  // The differences of neighbours modulo the size are uniform if neighbours are independent.
  int const size = 1000;
  std::vector<int> count(10);
  for (int seed = 0; seed < 20; ++seed) {
    random_permutation const permutation({static_cast<std::uint64_t>(seed), "test"}, size);
    for (int i = 1; i < size; ++i) {
      std::int64_t const difference = (permutation[i] - permutation[i - 1] + size) % size;
      ++count[static_cast<std::size_t>(difference / (size / 10))];
    }
  }
  double const expected = 20.0 * (size - 1) / 10;
  double chi_squared = 0;
  for (int const times : count) chi_squared += (times - expected) * (times - expected) / expected;
  EXPECT_LT(chi_squared, 27.9);  // 9 degrees of freedom, p = 0.001
}

TEST(random_permutation, of_a_large_size_contains_valid_indices) {
  std::int64_t const size = (std::int64_t{1} << 61) + 12345;
  random_permutation const permutation({7, "test"}, size);
  std::vector<std::int64_t> seen;
  for (std::int64_t i = 0; i < 1000; ++i) {
    seen.push_back(permutation[size - 1 - i * 1'000'000'007]);
    ASSERT_GE(seen.back(), 0);
    ASSERT_LT(seen.back(), size);
  }
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

}  // namespace permutation_test
