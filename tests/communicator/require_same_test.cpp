// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/require_same.hpp>
#include <functional>
#include <string>
#include <vector>

namespace require_same_test {

using namespace cohort;
using facts = std::vector<shared_fact>;

/// Returns the error text of ranks with these facts: "" without an error; the error if all ranks have the
/// same; otherwise "different sentences".
std::string said(int ranks, std::function<facts(int rank)> const& of) {
  std::vector<std::string> sentences(static_cast<std::size_t>(ranks));
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    try {
      require_same(world, of(world.rank()));
    } catch (setting_error const& e) {
      sentences[static_cast<std::size_t>(world.rank())] = e.what();
    }
  });
  for (std::string const& one : sentences)
    if (one != sentences[0]) return "different sentences";
  return sentences[0];
}

std::string refusal(std::string const& names, std::string const& what) {
  return "the ranks of this run differ (" + names + "): expected the same value on every rank, got " + what;
}

TEST(require_same, accepts_equal_facts_in_any_order) {
  EXPECT_EQ(said(1, [](int) { return facts{{"seed", "7"}}; }), "");
  EXPECT_EQ(said(2, [](int) { return facts{}; }), "");
  std::vector<facts> const of_ranks{{{"seed", "7"}, {"batch", "32"}}, {{"batch", "32"}, {"seed", "7"}}};
  EXPECT_EQ(said(3, [&](int rank) { return of_ranks[rank == 1 ? 1 : 0]; }), "");
}

TEST(require_same, reports_each_differing_fact_and_the_values_of_all_ranks) {
  EXPECT_EQ(
      said(3,
           [](int rank) {
             return facts{{"seed", rank == 1 ? "8" : "7"}, {"epochs", "2"}, {"batch", std::to_string(rank)}};
           }),
      refusal("seed, batch",
              "seed: 7 on ranks 0, 2; 8 on rank 1. batch: 0 on rank 0; 1 on rank 1; 2 on rank 2"));
}

TEST(require_same, reports_a_different_library_version) {
  EXPECT_EQ(said(2,
                 [](int rank) {
                   return facts{{"library version", rank == 0 ? "0.1.0" : "0.2.0"}, {"seed", "7"}};
                 }),
            refusal("library version", "library version: 0.1.0 on rank 0; 0.2.0 on rank 1"));
}

TEST(require_same, throws_the_same_error_on_every_rank_if_a_rank_has_more_facts) {
  for (int const knows : {0, 1, 2})
    EXPECT_EQ(said(3,
                   [&](int rank) {
                     facts mine{{"seed", "7"}};
                     if (rank == knows) mine.insert(mine.begin(), {"label smoothing", "0.1"});
                     return mine;
                   }),
              refusal("label smoothing", std::string("label smoothing: ")
                                             + (knows == 0   ? "0.1 on rank 0; nothing on ranks 1, 2"
                                                : knows == 1 ? "nothing on ranks 0, 2; 0.1 on rank 1"
                                                             : "nothing on ranks 0, 1; 0.1 on rank 2")));
}

TEST(require_same, prints_only_the_clauses_that_differ) {
  auto const settings = [](std::string const& middle) {
    return [middle](int rank) {
      return facts{{"settings", "sgd, rate 0.1; " + (rank == 1 ? middle : "l1 0, l2 0") + "; seed 3"}};
    };
  };
  EXPECT_EQ(said(3, settings("l1 0, l2 0.5")),
            refusal("settings", "settings: l1 0, l2 0 on ranks 0, 2; l1 0, l2 0.5 on rank 1"));
  EXPECT_EQ(said(2, settings("l1 0, l2 0; l1 0, l2 0")),
            refusal("settings", "settings: nothing on rank 0; l1 0, l2 0 on rank 1"));
  EXPECT_EQ(said(2, settings("a; b; c")),
            refusal("settings", "settings: l1 0, l2 0 on rank 0; a; b; c on rank 1"));
}

TEST(require_same, prints_at_most_four_values) {
  EXPECT_EQ(said(6,
                 [](int rank) {
                   return facts{{"seed", std::to_string(rank)}};
                 }),
            refusal("seed", "seed: 0 on rank 0; 1 on rank 1; 2 on rank 2; 3 on rank 3; …"));
}

}  // namespace require_same_test
