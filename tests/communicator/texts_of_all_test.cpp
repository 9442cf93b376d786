// SPDX-License-Identifier: Apache-2.0
// covers: communicator/all_or_none
#include <gtest/gtest.h>

#include <chrono>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/require_same.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace texts_of_all_test {

using namespace cohort;
using detail::texts_of_all;

/// The setting_error of each rank; "" without one.
std::vector<std::string> refusals(int ranks, std::function<void(communicator&)> const& body) {
  std::vector<std::string> sentences(static_cast<std::size_t>(ranks));
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    try {
      body(world);
    } catch (setting_error const& e) {
      sentences[static_cast<std::size_t>(world.rank())] = e.what();
    }
  });
  return sentences;
}

std::string refusal(std::string const& call, std::string const& calls) {
  return "the ranks are in different collective calls (" + call
         + "): expected all ranks call the same function, in the same order, even if only rank 0 writes a "
           "file, got "
         + calls;
}

TEST(texts_of_all, returns_the_text_of_each_rank) {
  std::string const any("a\0b\1c", 5);
  auto const refused = refusals(3, [&](communicator& world) {
    EXPECT_EQ(texts_of_all(world, "fit", world.rank() == 1 ? any : ""),
              (std::vector<std::string>{"", any, ""}));
  });
  EXPECT_EQ(refused, std::vector<std::string>(3));
}

TEST(texts_of_all, reports_the_call_of_each_rank_if_the_calls_differ) {
  auto const refused = refusals(3, [](communicator& world) {
    if (world.rank() == 0)
      outcome_of_all(world, "save", [] { return std::string(); });
    else
      detail::require_same(world, "fit", std::vector<shared_fact>{{"seed", "7"}});
  });
  std::string const calls = "save on rank 0; fit on ranks 1, 2";
  EXPECT_EQ(refused, (std::vector{refusal("save", calls), refusal("fit", calls), refusal("fit", calls)}));
}

TEST(texts_of_all, does_not_print_messages_of_another_collective) {
  auto const refused = refusals(2, [](communicator& world) {
    double const number = 1.5;
    if (world.rank() == 0)
      all_or_none(world, "save", "cannot save", [] {});
    else
      world.allgatherv(std::as_bytes(std::span(&number, 1)));
  });
  EXPECT_EQ(refused[0], refusal("save", "save on rank 0; another call on rank 1"));
}

}  // namespace texts_of_all_test
