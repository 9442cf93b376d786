// SPDX-License-Identifier: Apache-2.0
// covers: communicator/rank_progress
#include <gtest/gtest.h>

#include <cohort/communicator/detail/stall_report.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace stall_report_test {

using namespace cohort;
using detail::describe_stall;
using detail::rank_status;

constexpr rank_progress four{812, 4};
constexpr rank_progress five{812, 5};
constexpr rank_status silent(rank_progress last) { return {.answers = false, .where = last}; }
constexpr rank_status gone(rank_progress last) { return {.ended = true, .where = last}; }
constexpr rank_status at(rank_progress here) { return {.where = here, .waits_for = rank_status::several}; }
constexpr rank_status busy(rank_progress here) { return {.where = here}; }
constexpr rank_status receiving_from(int peer) { return {.where = five, .waits_for = peer}; }

std::string said(std::vector<rank_status> const& all) {
  std::vector<int> members(all.size());
  std::iota(members.begin(), members.end(), 0);
  return describe_stall(all, members, members);
}

TEST(stall_report, reports_a_rank_that_is_behind) {
  EXPECT_EQ(said({at(five), at(five), at(five), at(four)}),
            "rank 3 is at step 812, bucket 4; the others wait in bucket 5");
  EXPECT_EQ(said({at(five), at({811, 4}), at(four), at(five)}),
            "rank 1 is at step 811, bucket 4; rank 2 is at step 812, bucket 4; the others wait at step 812, "
            "bucket 5");
  EXPECT_EQ(said({at(four), at(five), at(four), at(five)}),
            "ranks 0, 2 are at step 812, bucket 4; the others wait in bucket 5");
  EXPECT_EQ(said({at({}), at({0, -1})}), "rank 0 is before its first step; rank 1 waits at step 0");
}

TEST(stall_report, reports_an_unresponsive_rank_instead_of_a_rank_that_is_behind) {
  EXPECT_EQ(said({at(five), at(four), at(five), silent(four)}),
            "rank 3 does not respond; it was last at step 812, bucket 4");
  EXPECT_EQ(said({silent(five), at(five), silent(five), at(five)}),
            "ranks 0, 2 do not respond; they were last at step 812, bucket 5; the others wait in bucket 5");
  EXPECT_EQ(said({at({}), silent({})}),
            "rank 1 does not respond; it was last before its first step; rank 0 waits");
}

TEST(stall_report, reports_a_rank_that_has_ended) {
  EXPECT_EQ(said({at(five), gone(four)}),
            "rank 1 has ended; it was last at step 812, bucket 4; rank 0 waits in bucket 5");
}

TEST(stall_report, reports_that_all_ranks_have_equal_progress) {
  EXPECT_EQ(said({at(five), at(five), at(five)}),
            "ranks 0, 1, 2 all respond and are at step 812, bucket 5: they wait for different operations");
  EXPECT_EQ(said({at(five)}), "rank 0 waits for its own message at step 812, bucket 5");
  std::string const many = said(std::vector<rank_status>(40, at(five)));
  EXPECT_NE(many.find(" 14, 15 and 24 more all respond"), std::string::npos) << many;
}

TEST(stall_report, reports_a_rank_that_does_not_wait_instead_of_a_rank_that_is_behind) {
  EXPECT_EQ(said({at(five), at(four), busy(five)}), "rank 2 is at step 812, bucket 5");
  EXPECT_EQ(said({at(five), busy(five), at(five)}),
            "rank 1 is at step 812, bucket 5; the others wait in bucket 5");
}

TEST(stall_report, reports_the_rank_for_which_all_others_wait) {
  std::vector<rank_status> all{receiving_from(1), receiving_from(2), receiving_from(3), busy(five)};
  std::vector<int> const members{0, 1, 2, 3};
  for (int awaited : {1, 2, 3})
    EXPECT_EQ(describe_stall(all, members, std::vector{awaited}),
              "rank 3 is at step 812, bucket 5; the others wait in bucket 5");
  all[3] = silent(four);
  EXPECT_EQ(detail::late_ranks(all, std::vector{1}), std::vector{3});
  all[3] = receiving_from(1);  // 1, 2 and 3 wait for each other
  EXPECT_EQ(describe_stall(all, members, std::vector{1}),
            "ranks 1, 2, 3 all respond and are at step 812, bucket 5: they wait for different operations");
  all[3] = at(five);
  all[0] = busy(four);  // awaited through a collective
  EXPECT_EQ(detail::late_ranks(all, std::vector{1}), std::vector{0});
}

TEST(stall_report, reports_the_activity_of_a_rank_between_steps) {
  using activity = rank_progress::activity;
  EXPECT_EQ(said({at({811, -1, activity::evaluating}), busy({811, -1, activity::evaluating})}),
            "rank 1 is evaluating after step 811; rank 0 waits");
  EXPECT_EQ(said({busy({811, -1, activity::saving}), at({812, 0})}),
            "rank 0 is saving after step 811; rank 1 waits at step 812, bucket 0");
  EXPECT_EQ(said({at({812, 0}), silent({-1, -1, activity::loading})}),
            "rank 1 does not respond; it was last loading before its first step; rank 0 waits at step 812, "
            "bucket 0");
}

TEST(stall_report, reports_only_members) {
  std::vector<rank_status> const all{silent({}), at(five), gone({}), at(four)};
  std::vector<int> const members{3, 1};
  EXPECT_EQ(describe_stall(all, members, members),
            "rank 3 is at step 812, bucket 4; rank 1 waits in bucket 5");
}

TEST(stall_report, describes_late_ranks) {
  std::vector<rank_status> const all{at(five), silent(four), silent(four), at({3, -1})};
  EXPECT_EQ(detail::late_ranks(all, std::vector<int>{0, 1, 2, 3}), (std::vector<int>{1, 2}));
  EXPECT_EQ(detail::describe_late_ranks(all, std::vector<int>{1, 2, 3}),
            "ranks 1, 2 (at step 812, bucket 4), rank 3 (at step 3)");
}

}  // namespace stall_report_test
