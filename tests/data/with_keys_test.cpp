// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <cohort/data/digits.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace with_keys_test {

using namespace cohort;

TEST(with_keys, assigns_a_key_to_each_example) {
  dataset const digits = synthetic_digits(3, 1);
  std::array<std::int64_t, 3> const numbers{-7, 12, 9'000'000'000};
  auto const keys_of = [&](dataset const& data) {
    loader batches(data, {.batch = 3, .shuffle = false, .readers = 3});
    batch const* const all = batches.next();
    EXPECT_TRUE(data.describe().keyed);
    EXPECT_EQ(all->input().dims, (shape{3, 1, 28, 28}));
    EXPECT_EQ(data.label(1), digits.label(1));
    return all->keys;
  };
  EXPECT_EQ(keys_of(with_keys(digits, std::vector<std::string>{"a", "", "c,\"d"})),
            (std::vector<std::string>{"a", "", "c,\"d"}));
  EXPECT_EQ(keys_of(with_keys(digits, numbers)), (std::vector<std::string>{"-7", "12", "9000000000"}));
  EXPECT_EQ(keys_of(with_keys(digits, [](std::int64_t i) { return "k" + std::to_string(i); })),
            (std::vector<std::string>{"k0", "k1", "k2"}));
}

TEST(with_keys, refuses_a_wrong_number_of_keys) {
  EXPECT_EQ(
      refusal_of<setting_error>([] { with_keys(synthetic_digits(3, 1), std::vector<std::string>{"a"}); }),
      "the number of keys differs from the number of examples (with_keys): expected 3 keys, got 1");
}

}  // namespace with_keys_test
