// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/detail/hash.hpp>

namespace hash_test {

TEST(hash, is_fnv1a_of_64_bits) {
  EXPECT_EQ(cohort::detail::fnv1a(""), 0xcbf29ce484222325);
  EXPECT_EQ(cohort::detail::fnv1a("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(cohort::detail::fnv1a("foobar"), 0x85944171f73967e8);
}

TEST(hash, continues_an_earlier_hash) {
  EXPECT_EQ(cohort::detail::fnv1a("bar", cohort::detail::fnv1a("foo")), cohort::detail::fnv1a("foobar"));
}

TEST(hash, distinguishes_the_boundary_between_two_names) {
  EXPECT_NE(cohort::detail::purpose_of("fc", "1weights"), cohort::detail::purpose_of("fc1", "weights"));
  EXPECT_EQ(cohort::detail::purpose_of("fc1"), cohort::detail::fnv1a("fc1"));
}

}  // namespace hash_test
