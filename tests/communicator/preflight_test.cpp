// SPDX-License-Identifier: Apache-2.0
// covers: communicator/preflight_report
#include <gtest/gtest.h>
#include <cohort/communicator/detail/preflight_facts.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/preflight.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/version.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>
#include "../data/refused.hpp"
#include "../strategy/counting_communicator.hpp"

namespace preflight_test {

using namespace cohort;

TEST(preflight, pairs_each_rank_with_every_other_rank_once) {
  for (int size = 1; size <= 9; ++size) {
    std::set<std::pair<int, int>> met;
    for (int round = 0; round < size - 1 + size % 2; ++round)
      for (int rank = 0; rank < size; ++rank) {
        int const other = detail::partner_of(rank, round, size);
        if (other < 0) continue;
        EXPECT_EQ(detail::partner_of(other, round, size), rank) << size << " ranks, round " << round;
        EXPECT_NE(other, rank);
        EXPECT_TRUE(met.emplace(rank, other).second);
      }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(size * (size - 1)));
  }
}

TEST(preflight, measures_every_pair_in_both_directions) {
  for (int const size : {1, 2, 3, 4})
    launch<threads>(size, [&](communicator& world) {
      preflight_report const report =
          preflight(world, {.folder = "/tmp", .disk = 1, .run = {{"rate", "1"}}, .probe = 4096});
      EXPECT_EQ(report.problems, std::vector<std::string>());
      EXPECT_NO_THROW(report.require_none());
      ASSERT_EQ(report.ranks.size(), static_cast<std::size_t>(size));
      EXPECT_EQ(report.ranks[0].version, library_version);
      EXPECT_GT(report.ranks[0].memory, 0U);
      EXPECT_GT(report.ranks[0].disk, 0U);
      EXPECT_EQ(report.ranks[0].clock, 0);
      ASSERT_EQ(report.pairs.size(), static_cast<std::size_t>(size * (size - 1)));
      for (preflight_pair const& one : report.pairs) {
        EXPECT_GT(one.latency, 0);
        EXPECT_GT(one.bandwidth, 0);
      }
      expect_parts(report.text(), {report.ranks[0].host.c_str()});
      if (size > 1) expect_parts(report.text(), {"bandwidth, MB/s"});
    });
}

TEST(preflight, reports_every_obstacle_on_every_rank) {
  launch<threads>(2, [](communicator& world) {
    bool const is_odd = world.rank() == 1;
    std::string const odd = is_odd ? "/no such folder" : "/tmp";
    preflight_report const report =
        preflight(world, {.folder = odd,
                          .disk = std::uint64_t{1} << 60,
                          .memory = std::uint64_t{1} << 60,
                          .run = {{"rate", is_odd ? "0.2" : "0.1"}, {"seed", "7"}},
                          .probe = 1});
    std::string const all = report.text();
    expect_parts(
        all,
        {"the ranks of this run differ (rate): 0.1 on rank 0; 0.2 on rank 1; start all ranks with the same"});
    expect_parts(all, {"rank 1 (", "): cannot write in /no such folder (No such file"});
    expect_parts(all, {"2 ranks need 2305843009214 MB of memory"});
    expect_parts(all, {"rank 0 (", "): /tmp has ", "free, expected 2305843009214 MB"});
    EXPECT_EQ(report.problems.size(), 4U);
    EXPECT_THROW(report.require_none(), setting_error);
  });
}

/// Adds three ranks that need these bytes: the first two on host a, the last on host b. On each host, 1.25 GB
/// are available.
std::vector<detail::rank_facts> on_two_hosts(preflight_report& report,
                                             std::uint64_t detail::rank_facts::*needs,
                                             std::uint64_t preflight_rank::*has) {
  std::vector<detail::rank_facts> all;
  for (std::uint64_t const needed : {300'000'000, 900'000'000, 1'300'000'000}) {
    all.emplace_back().folder = "/kept";
    all.back().*needs = needed;
    all.back().its.*has = 1'250'000'000;
    all.back().its.host = all.size() < 3 ? "a" : "b";
    report.ranks.push_back(all.back().its);
  }
  return all;
}

TEST(preflight, sums_the_memory_that_the_ranks_of_a_host_need) {
  preflight_report report;
  auto all = on_two_hosts(report, &detail::rank_facts::needed_memory, &preflight_rank::memory);
  detail::judge(report, all, {}, "tcp");
  ASSERT_EQ(report.problems.size(), 1U);
  expect_parts(report.problems[0], {"rank 2 (b): 1 rank needs 1300 MB of memory, and 1250 MB are available"});
  all[0].needed_memory = 400'000'000;
  detail::judge(report, all, {}, "tcp");
  expect_parts(report.problems.at(1), {"rank 0 (a): 2 ranks need 1300 MB of memory"});
}

TEST(preflight, sums_the_disk_space_that_all_ranks_need) {
  preflight_report report;
  auto all = on_two_hosts(report, &detail::rank_facts::needed_disk, &preflight_rank::disk);
  detail::judge(report, all, {}, "tcp");
  ASSERT_EQ(report.problems.size(), 1U);
  expect_parts(report.problems[0], {"rank 0 (a): /kept has 1250 MB free, expected 2500 MB"});
  all[2].needed_disk = 0;
  detail::judge(report, all, {}, "tcp");
  EXPECT_EQ(report.problems.size(), 1U);
}

TEST(preflight, does_not_report_disk_space_of_a_folder_that_cannot_be_opened) {
  preflight_report report;
  auto all = on_two_hosts(report, &detail::rank_facts::needed_disk, &preflight_rank::disk);
  all[0].problem = "No such file or directory";
  detail::judge(report, all, {}, "tcp");
  ASSERT_EQ(report.problems.size(), 1U);
  expect_parts(report.problems[0], {"rank 0 (a): cannot write in /kept (No such file or directory)"});
}

TEST(preflight, reports_that_disk_space_needs_a_folder) {
  launch<threads>(2, [](communicator& world) {
    preflight_report const report = preflight(world, {.disk = 3'000'000, .probe = 0});
    EXPECT_EQ(report.problems,
              std::vector<std::string>{"the ranks need 6 MB of disk space, but no folder is set; choose one "
                                       "that all hosts share"});
  });
}

TEST(preflight, requires_a_folder_on_all_ranks_or_on_none) {
  std::filesystem::path const root = fresh_path("some_folders");
  std::filesystem::create_directories(root);
  for (int const without : {0, 1})
    launch<threads>(3, [&](communicator& world) {
      std::string const mine = world.rank() == without ? "" : root.string();
      preflight_report const report = preflight(world, {.folder = mine, .disk = 1, .probe = 0});
      std::string const nothing = "nothing on rank " + std::to_string(without),
                        others = root.string() + " on ranks " + (without == 0 ? "1" : "0") + ", 2";
      EXPECT_EQ(report.problems,
                std::vector<std::string>{"only some ranks have a folder: "
                                         + (without == 0 ? nothing + "; " + others : others + "; " + nothing)
                                         + "; choose a folder that all hosts share for every rank, or none"});
    });
}

/// Records whether a folder is empty when all ranks begin to measure pairs.
class folder_watch final : public cohort_test::counting_communicator {
 public:
  folder_watch(communicator& world, std::filesystem::path folder)
      : counting_communicator(world), folder_(std::move(folder)) {}
  std::unique_ptr<communicator> duplicate() override {
    barrier();
    was_empty = std::filesystem::is_empty(folder_);
    return counting_communicator::duplicate();
  }
  bool was_empty = false;

 private:
  std::filesystem::path folder_;
};

TEST(preflight, removes_its_files_before_it_measures_pairs) {
  std::filesystem::path const root = fresh_path("measured_folder");
  std::filesystem::create_directories(root);
  launch<threads>(2, [&](communicator& world) {
    folder_watch watched(world, root);
    EXPECT_FALSE(preflight(watched, {.folder = root, .probe = 1}).pairs.empty());
    EXPECT_TRUE(watched.was_empty);
  });
}

TEST(preflight, requires_a_folder_that_all_ranks_share) {
  std::filesystem::path const root = fresh_path("folders");
  for (char const* const name : {"a", "b"}) std::filesystem::create_directories(root / name);
  std::filesystem::create_directory_symlink("a", root / "link");
  auto const problems = [&](std::vector<std::string> const& folders) {
    std::vector<std::string> found;
    launch<threads>(3, [&](communicator& world) {
      std::string const mine = root / folders[static_cast<std::size_t>(world.rank())];
      preflight_report const report = preflight(world, {.folder = mine, .probe = 0});
      if (world.rank() == 2) found = report.problems;
    });
    EXPECT_TRUE(std::filesystem::is_empty(root / "a"));
    EXPECT_TRUE(std::filesystem::is_empty(root / "b"));
    return found;
  };
  EXPECT_EQ(problems({"a", "a", "link"}), std::vector<std::string>());
  std::vector<std::string> const found = problems({"a", "b", "a"});
  ASSERT_EQ(found.size(), 1U);
  std::string const sees = "): does not see in " + (root / "b").string() + " the files that rank 0 (",
                    made = ") makes in " + (root / "a").string() + "; choose a folder that all hosts share";
  expect_parts(found[0], {"rank 1 (", sees.c_str(), made.c_str()});
  std::vector<std::string> const none = problems({"none", "b", "a"});
  ASSERT_EQ(none.size(), 1U) << "rank 0's problem only";
  expect_parts(none[0], {"rank 0 (", "/none (No such file"});
}

TEST(preflight, reports_missing_disk_space_of_one_rank_on_every_rank) {
  launch<threads>(2, [](communicator& world) {
    std::uint64_t const needed = world.rank() == 1 ? std::uint64_t{1} << 60 : 1;
    preflight_report const report = preflight(world, {.folder = "/tmp", .disk = needed, .probe = 0});
    ASSERT_EQ(report.problems.size(), 1U) << report.text();
    expect_parts(report.problems[0], {"rank 0 (", "free, expected 1152921504607 MB"});
  });
}

TEST(preflight, measures_no_pair_if_the_probe_size_is_zero) {
  launch<threads>(2, [&](communicator& world) {
    std::uint64_t const before = world.sent().messages_sent;
    preflight_report const report = preflight(world, {.run = {{"rate", "1"}}, .probe = 0});
    EXPECT_TRUE(report.pairs.empty());
    EXPECT_EQ(report.problems, std::vector<std::string>());
    EXPECT_LT(world.sent().messages_sent - before, 10U);
    EXPECT_EQ(report.text().find("latency"), std::string::npos);
  });
}

TEST(preflight, reads_the_memory_limit_of_a_control_group) {
  std::filesystem::path const root = fresh_path("groups");
  auto const write = [&](char const* path, char const* text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(detail::free_memory_of_group(root, "/"), unlimited);
  write("job/rank/memory.max", "max\n");
  write("job/rank/memory.current", "100\n");
  EXPECT_EQ(detail::free_memory_of_group(root, "/job/rank"), unlimited);
  write("job/memory.max", "1000\n");
  write("job/memory.current", "300\n");
  EXPECT_EQ(detail::free_memory_of_group(root, "/job/rank"), 700U);
  write("job/memory.stat", "anon 1\ninactive_file 50\nslab 7\n");
  EXPECT_EQ(detail::free_memory_of_group(root, "/job/rank"), 750U);
  EXPECT_EQ(detail::free_memory_of_group(root, "/"), unlimited);
  write("job/rank/memory.max", "80\n");
  EXPECT_EQ(detail::free_memory_of_group(root, "/job/rank"), 0U);
}

/// Facts of ranks on hosts "a" and "b", two ranks per host.
std::vector<detail::rank_facts> facts_of(preflight_report& report) {
  std::vector<detail::rank_facts> made;
  for (char const* const host : {"a", "a", "b", "b"}) {
    detail::rank_facts one = detail::rank_facts::found({});
    one.its.host = host;
    report.ranks.push_back(one.its);
    made.push_back(one);
  }
  return made;
}

TEST(preflight, reports_different_versions_and_clocks_of_hosts) {
  preflight_report report;
  std::vector<detail::rank_facts> all = facts_of(report);
  all[3].its.version = "9.9.9";
  report.ranks[2].clock = -3.5;
  detail::judge(report, all, {}, "tcp");
  ASSERT_EQ(report.problems.size(), 2U);
  expect_parts(report.problems[0], {"9.9.9 on rank 3"});
  expect_parts(report.problems[1], {"rank 2 (b): its clock differs"});
}

TEST(preflight, warns_of_slow_pairs_and_of_small_shared_memory) {
  preflight_report report;
  std::vector<detail::rank_facts> const all = facts_of(report);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from != to) report.pairs.push_back({from, to, 1e-5, from == 3 && to == 1 ? 1e6 : 1e8});
  for (preflight_rank& one : report.ranks) one.shared_memory = std::uint64_t{1} << 20;
  detail::judge(report, all, {}, "mpi");
  EXPECT_EQ(report.problems, std::vector<std::string>());
  ASSERT_EQ(report.warnings.size(), 3U);
  expect_parts(report.warnings[0], {"rank 0 (a): /dev/shm has 1 MB free"});
  expect_parts(report.warnings[1], {"rank 2 (b): /dev/shm"});
  expect_parts(report.warnings[2], {"rank 3 (b) sends 1 MB/s to rank 1 (a), and the median is 100 MB/s"});
  report.warnings.clear();
  detail::judge(report, all, {}, "tcp");
  EXPECT_EQ(report.warnings.size(), 1U);
}

}  // namespace preflight_test
