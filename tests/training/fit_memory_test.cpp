// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/detail/fit_memory.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>

namespace fit_memory_test {

using namespace cohort;
using detail::rank_memory;
using texts = std::vector<std::string>;

graph net() {
  return graph::build([](builder& b) {
    return b.input({1, 28, 28}) | flatten{} | dense{.units = 10} | softmax_cross_entropy{};
  });
}

/// The lines about memory that the ranks log in two calls of fit and a third one with another batch.
/// `workers` has one number per rank.
std::vector<texts> logged(std::vector<int> const& workers) {
  std::vector<texts> lines(workers.size());
  launch<threads>(static_cast<int>(workers.size()), [&](communicator& world) {
    auto const rank = static_cast<std::size_t>(world.rank());
    sink const log = [&](std::string_view line) {
      if (line.starts_with("memory: ")) lines[rank].emplace_back(line);
    };
    training run =
        trainer<reference<float>>(net(), world, allreduce{}, {.workers = workers[rank], .log = log});
    dataset const data = synthetic_digits(64, 1);
    for (int const batch : {8, 8, 4}) run.fit(data, {.batch = batch});
  });
  return lines;
}

TEST(fit_memory, is_logged_once_for_all_ranks) {
  std::vector<texts> const lines = logged({1, 1, 1});
  EXPECT_TRUE(lines[1].empty() && lines[2].empty());
  ASSERT_EQ(lines[0].size(), 2U) << "one line for each batch";
  EXPECT_NE(lines[0][0].find("; the same on each of 3 ranks; sums of the hosts: "), std::string::npos)
      << lines[0][0];
}

TEST(fit_memory, reports_the_largest_rank) {
  texts const lines = logged({1, 2, 1})[0];
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("; each of 2 workers: "), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("; this is rank 1, the largest of 3 ranks; sums of the hosts: "), std::string::npos)
      << lines[0];
  EXPECT_EQ(logged({2})[0][0].find("rank"), std::string::npos);
}

TEST(fit_memory, is_summed_for_each_host) {
  auto const text = [](std::vector<rank_memory> const& ranks) { return detail::text_of(ranks); };
  EXPECT_EQ(text({{"a", 5, "parts"}}), "parts");
  EXPECT_EQ(text({{"a", 500, "first"}, {"b", 500, "second"}, {"a", 500, "third"}}),
            "first; the same on each of 3 ranks; sums of the hosts: a 1.0 kB, b 500 B");
  EXPECT_EQ(text({{"a", 1, "first"}, {"b", 3, "second"}, {"a", 1, "third"}, {"b", 3, "fourth"}}),
            "second; this is rank 1, the largest of 4 ranks; sums of the hosts: b 6 B, a 2 B");
  std::vector<rank_memory> many;
  for (char host = 'a'; host <= 'j'; ++host)
    many.push_back({std::string(1, host), std::size_t(host - 'a'), "x"});
  EXPECT_EQ(
      text(many),
      "x; this is rank 9, the largest of 10 ranks; sums of the hosts: j 9 B, i 8 B, h 7 B, g 6 B, f 5 B, "
      "e 4 B, d 3 B, c 2 B and 2 more hosts");
}

}  // namespace fit_memory_test
