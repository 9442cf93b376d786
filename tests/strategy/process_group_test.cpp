// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/detail/process_group.hpp>
#include <limits>
#include <vector>

namespace process_group_test {

using namespace cohort;

/// Ranks 0, 2 and 4 are one process, 1 and 3 another.
TEST(process_group, sums_with_the_first_rank_of_each_group_as_leader) {
  launch<threads>(5, [](communicator& world) {
    int const rank = world.rank(), odd = rank % 2;
    detail::process_group const ranks(world, static_cast<std::uint64_t>(odd) + 40);
    EXPECT_EQ(ranks.is_leader(), rank < 2);
    if (ranks.is_leader()) {
      EXPECT_EQ(ranks.leaders().size(), 2);
    }

    step_info now{.examples = rank, .weight = 2.0 * rank, .mine = {.stop = rank == 4}};
    std::vector<float> x{1, static_cast<float>(rank)};
    ranks.sum(x, now, false);
    EXPECT_EQ(now.examples, odd == 1 ? 4 : 6);
    EXPECT_EQ(now.weight, odd == 1 ? 8 : 12);
    EXPECT_EQ(now.mine.stop, odd == 0);
    EXPECT_FLOAT_EQ(x[0], 1);
    EXPECT_FLOAT_EQ(x[1], odd == 1 ? 10 / 4.0F : 20 / 6.0F);  // sum of rank squared over sum of rank

    x = {1, static_cast<float>(rank)};
    now = {.examples = 1, .weight = 1};
    ranks.sum(x, now, true);
    EXPECT_EQ(x, odd == 1 ? (std::vector<float>{2, 4}) : (std::vector<float>{3, 6}));

    agreement agreed{.examples = ranks.is_leader() ? 7 + rank : 0};
    x = {ranks.is_leader() ? 5.0F + static_cast<float>(rank) : 0};
    ranks.broadcast(agreed, x);
    EXPECT_EQ(agreed.examples, 7 + odd);
    EXPECT_EQ(x[0], 5 + odd);
  });
}

TEST(process_group, excludes_and_reports_non_finite_gradients) {
  launch<threads>(3, [](communicator& world) {
    detail::process_group const ranks(world, 1);
    bool const bad = world.rank() == 1;
    std::vector<float> x{bad ? std::numeric_limits<float>::quiet_NaN() : 2};
    step_info now{.examples = 1, .weight = 1, .mine = {.not_finite = bad}};
    ranks.sum(x, now, true);
    EXPECT_TRUE(now.mine.not_finite);
    EXPECT_EQ(x[0], 4);
  });
}

TEST(process_group, contains_one_rank_if_all_group_numbers_differ) {
  launch<threads>(3, [](communicator& world) {
    for (bool const asks : {false, true}) {
      detail::process_group const ranks =
          asks ? detail::process_group(world, static_cast<std::uint64_t>(world.rank()))
               : detail::process_group(world);
      EXPECT_TRUE(ranks.is_leader());
      EXPECT_EQ(&ranks.leaders(), &world);
      std::uint64_t const before = world.sent().bytes_sent;
      std::vector<float> x{3};
      step_info now{.examples = 2, .weight = 5};
      ranks.sum(x, now, false);
      EXPECT_EQ(x[0], 3);
      EXPECT_EQ(now.weight, 5);
      EXPECT_EQ(world.sent().bytes_sent, before);
    }
    EXPECT_TRUE(detail::process_group(world, detail::random_process_id()).is_grouped());
  });
}

}  // namespace process_group_test
