// SPDX-License-Identifier: Apache-2.0
#include "simulated_membership.hpp"

using namespace simulated_membership;

TEST(membership_of_an_elastic_job, never_divides_and_goes_on_after_random_faults) {
  totals const all = run_seeds({1, 5'000});
  EXPECT_GT(all.steps, 500'000);
  EXPECT_GT(all.memberships, 10'000);
}

TEST(membership_of_an_elastic_job, does_not_change_because_of_lost_packets) {
  for (double const loss : {0.01, 0.05}) {
    totals const all = run_seeds({1, 200}, lossy(loss));
    EXPECT_GT(all.longest_delay, std::chrono::milliseconds(600)) << loss;
    EXPECT_EQ(all.changes, 0) << loss;
  }
}

TEST(membership_rules, claim_every_membership_that_others_may_have_confirmed) {
  using namespace std::chrono_literals;
  membership const first{.number = 1, .members = {2, 1}}, second{.number = 2, .members = {2, 1}, .origin = 1},
      third{.number = 3, .members = {2, 1}, .origin = 2};
  membership_rules::clock::time_point const time{10s};
  membership_rules rules({.ranks = 2, .least = 1, .most = 2, .silence = 1s, .may_be_first = false},
                         time - 2s);
  rules.report(1, {.confirmed = first, .attempts = {second, third}, .loaded = 2}, time);
  for (membership const& last : {first, second, third}) {
    membership_rules::decision const next = rules.decide(time);
    ASSERT_EQ(next.claim, last);
    EXPECT_EQ(next.claimant, 1U);
    EXPECT_FALSE(next.begin);
    rules.claimed(last, 1);
  }
  membership_rules::decision const next = rules.decide(time);
  ASSERT_TRUE(next.begin);
  EXPECT_EQ(next.begin->members, std::vector<process_id>{1});
  EXPECT_EQ(next.begin->number, 4);
}

TEST(membership_rules, keep_a_silent_process_until_others_report_it_or_twice_the_time_has_passed) {
  using namespace std::chrono_literals;
  membership const first{.number = 1, .members = {1, 2, 3}};
  membership_rules::clock::time_point const begin{10s};
  for (bool const is_reported : {false, true}) {
    membership_rules rules({.ranks = 3, .least = 1, .most = 3, .silence = 1s, .may_be_first = false}, begin);
    for (process_id const id : first.members)
      rules.report(id, {.trains = true, .confirmed = first, .loaded = 1}, begin);
    auto const time = begin + 1500ms;
    rules.hear(1, time);
    rules.hear(2, time);
    EXPECT_TRUE(rules.decide(time).is_empty());
    if (is_reported) rules.report(1, {.confirmed = first, .loaded = 1, .lost = {3}}, time);
    membership_rules::decision const next = rules.decide(is_reported ? time : begin + 2100ms);
    EXPECT_EQ(next.close, std::vector<process_id>{3});
    EXPECT_FALSE(next.end.empty());
  }
}

TEST(membership_rules, use_a_claim_only_with_its_claimant) {
  using namespace std::chrono_literals;
  membership const last{.number = 1, .members = {1, 2, 3, 4}};
  membership_rules::clock::time_point const time{10s};
  for (process_id const claimant : {2, 3}) {
    membership_rules rules({.ranks = 4, .least = 1, .most = 4, .silence = 1s, .may_be_first = false},
                           time - 2s);
    for (process_id const id : {1, 2}) rules.report(id, {.confirmed = last, .loaded = 1}, time);
    ASSERT_TRUE(rules.decide(time).claim);
    rules.claimed(last, claimant);
    EXPECT_EQ(rules.decide(time).begin.has_value(), claimant == 2);
  }
}

TEST(membership_rules, require_the_quorum_of_a_membership_that_no_waiting_process_has_received) {
  using namespace std::chrono_literals;
  membership_rules::clock::time_point const time{10s};
  membership_rules rules({.ranks = 2, .least = 1, .most = 2, .silence = 1s}, time);
  for (process_id const id : {1, 2}) rules.report(id, {}, time);
  membership const first = rules.decide(time).begin.value();
  rules.lose(2, false);  // it has received the membership, and process 1 has not
  rules.lose(1, false);
  rules.report(1, {}, time);
  EXPECT_EQ(rules.decide(time).claim, first);
}

TEST(membership_rules, prefer_members_of_the_last_memberships_to_processes_that_join) {
  using namespace std::chrono_literals;
  membership const confirmed{.number = 5, .members = {1, 2}},
      last{.number = 6, .members = {1, 2}, .origin = 5};
  membership_rules::clock::time_point const time{10s};
  membership_rules rules({.ranks = 2, .least = 1, .most = 2, .silence = 1s, .may_be_first = false},
                         time - 2s);
  rules.report(1, {.confirmed = confirmed, .attempts = {last}, .loaded = 6}, time);
  rules.report(3, {}, time);
  rules.report(2, {.confirmed = confirmed, .attempts = {last}, .loaded = 5}, time);
  // {1, 3} would be half of both memberships. Without a claim, a service that sees only 2 could begin {2}.
  membership_rules::decision const next = rules.decide(time);
  ASSERT_TRUE(next.begin);
  EXPECT_EQ(next.begin->members, (std::vector<process_id>{1, 2}));
}

TEST(membership_rules, count_only_processes_that_the_next_membership_contains) {
  using namespace std::chrono_literals;
  membership const confirmed{.number = 5, .members = {1, 2}},
      last{.number = 6, .members = {1, 3}, .origin = 5};
  membership_rules::clock::time_point const time{10s};
  for (process_id const claimant : {1, 3}) {
    membership_rules rules({.ranks = 2, .least = 1, .most = 2, .silence = 1s, .may_be_first = false},
                           time - 2s);
    rules.report(1, {.confirmed = confirmed, .attempts = {last}, .loaded = 6}, time);
    rules.report(2, {.confirmed = confirmed, .loaded = 5}, time);
    rules.report(3, {.attempts = {last}, .loaded = 6}, time);
    // The next membership is {1, 2}, half of the last one, although 1 and 3 wait.
    membership_rules::decision const claim = rules.decide(time);
    ASSERT_EQ(claim.claim, last);
    EXPECT_EQ(claim.claimant, 1U);
    rules.claimed(last, claimant);
    membership_rules::decision const next = rules.decide(time);
    EXPECT_EQ(next.begin.has_value(), claimant == 1);
    if (next.begin) {
      EXPECT_EQ(next.begin->members, (std::vector<process_id>{1, 2}));
    }
  }
}

TEST(membership_rules, choose_more_than_half_of_each_last_membership) {
  using namespace std::chrono_literals;
  membership_rules::clock::time_point const time{10s};
  {
    membership const confirmed{.number = 3, .members = {1, 2}, .origin = 2},
        last{.number = 4, .members = {2, 3}, .origin = 3};
    membership_rules rules({.ranks = 2, .least = 2, .most = 2, .silence = 1s, .may_be_first = false},
                           time - 2s);
    rules.report(1, {.step = 81, .confirmed = confirmed, .loaded = 3}, time);
    rules.report(2, {.step = 80, .confirmed = confirmed, .attempts = {last}, .loaded = 3}, time);
    rules.report(3, {.step = 80, .attempts = {last}, .loaded = 4}, time);
    ASSERT_EQ(rules.decide(time).claim, confirmed);
    rules.claimed(confirmed, 2);  // by a former service
    membership_rules::decision const next = rules.decide(time);
    ASSERT_TRUE(next.begin);
    EXPECT_EQ(next.begin->members, (std::vector<process_id>{3, 2}));
  }
  membership const confirmed{.number = 7, .members = {2, 4, 5, 6}, .origin = 6},
      last{.number = 8, .members = {4, 5, 7, 1}, .origin = 7};
  membership_rules rules({.ranks = 4, .least = 4, .most = 4, .silence = 1s, .may_be_first = false},
                         time - 2s);
  for (process_id const id : {1, 7}) rules.report(id, {.attempts = {last}, .loaded = 8}, time);
  rules.report(5, {.confirmed = confirmed, .attempts = {last}, .loaded = 8}, time);
  for (process_id const id : {2, 6}) rules.report(id, {.confirmed = confirmed, .loaded = 7}, time);
  // 1, 5 and 7 have the state, but with only one of 2 and 6 they are half of the confirmed membership, which
  // the lost process 4 may have claimed.
  membership_rules::decision const claim = rules.decide(time);
  ASSERT_EQ(claim.claim, last);
  EXPECT_EQ(claim.claimant, 5U);
  rules.claimed(last, 5);
  membership_rules::decision const next = rules.decide(time);
  ASSERT_TRUE(next.begin);
  EXPECT_EQ(next.begin->members.front(), 5U);
  for (process_id const id : {2, 5, 6}) EXPECT_TRUE(next.begin->contains(id)) << id;
}
