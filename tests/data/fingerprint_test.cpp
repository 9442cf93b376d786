// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/data/arrays.hpp>
#include <cohort/data/fingerprint.hpp>
#include <vector>

namespace fingerprint_test {

using namespace cohort;

std::uint64_t print_of(std::vector<float> const& rows, std::vector<std::int32_t> const& labels) {
  return fingerprint(arrays(rows, {2}, labels, 3), 0);
}

TEST(fingerprint, is_equal_only_for_equal_examples) {
  std::vector<float> const rows{1, 2, 3, 4, 5, 6};
  std::vector<std::int32_t> const labels{0, 1, 2};
  std::uint64_t const first = print_of(rows, labels);
  EXPECT_EQ(print_of(std::vector<float>(rows), std::vector<std::int32_t>(labels)), first);
  EXPECT_NE(print_of({1, 2, 3, 4, 5, 7}, labels), first);
  EXPECT_NE(print_of(rows, {0, 1, 1}), first);
  EXPECT_NE(print_of({3, 4, 1, 2, 5, 6}, {1, 0, 2}), first) << "the order matters";
}

TEST(fingerprint, covers_the_first_the_last_and_some_examples_between) {
  std::vector<float> rows(2 * 1000);
  std::vector<std::int32_t> const labels(1000);
  std::uint64_t const first = print_of(rows, labels);
  for (std::size_t const changed : {0U, 1U, 1998U, 1999U}) {
    rows[changed] = 1;
    EXPECT_NE(print_of(rows, labels), first) << changed;
    rows[changed] = 0;
  }
  for (std::size_t i = 200; i < 1800; ++i) rows[i] = 1;
  EXPECT_NE(print_of(rows, labels), first);
}

TEST(fingerprint, distinguishes_data_sets_of_one_example) {
  EXPECT_NE(print_of({1, 2}, {0}), print_of({1, 2}, {1}));
}

}  // namespace fingerprint_test
