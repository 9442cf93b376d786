// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/training/host_files.hpp>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../communicator/on_ranks.hpp"
#include "../data/refused.hpp"

namespace host_files_test {

using namespace cohort;
using texts = std::vector<std::string>;

TEST(host_files, of_each_host_are_divided_among_its_ranks) {
  texts const left{"a", "b", "c", "d", "e"}, right{"x", "y"};
  // The ranks of a host need not be consecutive.
  std::vector<detail::listed_files> const ranks{
      {"left", left}, {"right", right}, {"left", left}, {"right", right}, {"left", left}};
  EXPECT_EQ(detail::host_files_of(0, ranks), (texts{"a", "d"}));
  EXPECT_EQ(detail::host_files_of(1, ranks), (texts{"x"}));
  EXPECT_EQ(detail::host_files_of(2, ranks), (texts{"b", "e"}));
  EXPECT_EQ(detail::host_files_of(3, ranks), (texts{"y"}));
  EXPECT_EQ(detail::host_files_of(4, ranks), (texts{"c"}));
}

TEST(host_files, refuse_on_every_rank_lists_that_differ_and_ranks_without_a_file) {
  for (std::size_t rank = 0; rank < 3; ++rank) {
    expect_parts(refused<setting_error>([&] {
                   detail::host_files_of(rank, std::vector<detail::listed_files>{
                                                   {"a", {"1"}}, {"b", {"1", "2"}}, {"b", {"2", "1"}}});
                 }),
                 {"different files", "host b", "expected the same list as rank 1, 2 files",
                  "got a different list on rank 2, 2 files"});
    expect_parts(refused<setting_error>([&] {
                   detail::host_files_of(
                       rank, std::vector<detail::listed_files>{{"a", {"1"}}, {"b", {"2"}}, {"b", {"2"}}});
                 }),
                 {"fewer files than ranks", "host b", "at least 2 files", "got 1"});
  }
}

TEST(host_files, are_divided_among_the_ranks_and_refused_if_lists_differ) {
  texts const files{"one", "two, with a comma", "", "four"};
  std::mutex mutex;
  std::multiset<std::string> seen;
  on_ranks(3, [&](communicator& world) {
    texts const mine = host_files(files, world);
    std::lock_guard const lock(mutex);
    seen.insert(mine.begin(), mine.end());
    EXPECT_EQ(mine.size(), world.rank() == 0 ? 2U : 1U);
  });
  EXPECT_EQ(seen, std::multiset<std::string>(files.begin(), files.end()));
  on_ranks(2, [](communicator& world) {
    EXPECT_THROW(host_files(world.rank() == 0 ? texts{"a", "b"} : texts{"a", "c"}, world), setting_error);
    EXPECT_THROW(host_files({}, world), setting_error);
  });
}

}  // namespace host_files_test
