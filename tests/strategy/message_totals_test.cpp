// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/strategy/detail/message_totals.hpp>

namespace message_totals_test {

using namespace cohort;

TEST(message_ages, are_counted_in_intervals_with_doubling_bounds) {
  detail::message_ages ages;
  for (int age = 0; age <= 40; ++age) ages.add(age);
  EXPECT_EQ(ages.messages(), 41);
  EXPECT_EQ(ages.largest(), 40);
  std::vector<measurement> told;
  ages.append_to(told);
  ASSERT_EQ(told.size(), 8U);
  double const counts[]{1, 1, 1, 2, 4, 8, 24, 40};
  for (std::size_t k = 0; k < told.size(); ++k) EXPECT_EQ(told[k].value, counts[k]) << told[k].name;
  EXPECT_EQ(told[4].name, "staleness_5_to_8");
  EXPECT_TRUE(told[6].is_sum);
  EXPECT_FALSE(told[7].is_sum);
}

}  // namespace message_totals_test
