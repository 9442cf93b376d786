// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/key_runs.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace key_runs_test {

using namespace cohort;
using detail::key_entry;

TEST(key_runs, encode_integers_as_bytes_of_the_same_order) {
  std::vector<std::int64_t> const ascending{
      std::numeric_limits<std::int64_t>::min(), -300, -1, 0, 1, 255, 256,
      std::numeric_limits<std::int64_t>::max()};
  std::vector<std::string> bytes;
  for (std::int64_t const one : ascending) {
    bytes.push_back(detail::ordered_bytes(one));
    EXPECT_EQ(detail::integer_of(bytes.back()), one);
  }
  EXPECT_TRUE(std::ranges::is_sorted(bytes));
}

TEST(key_runs, are_merged_with_any_limit_of_open_files) {
  random_stream const numbers(5, "keys");
  for (std::size_t const most : {2U, 3U, 7U, 100U}) {
    scratch_folder const folder;
    std::vector<std::string> runs;
    std::vector<std::pair<std::string, std::int64_t>> all;
    std::int64_t row = 0;
    for (std::uint64_t run = 0; run < 23; ++run) {
      std::vector<key_entry> entries;
      for (std::uint64_t i = numbers.below(run, 40); i > 0; --i) {  // empty runs, too
        std::string key(numbers.below(1'000 * run + i, 5), 'a');
        key += std::to_string(numbers.below(1'000'000 + 1'000 * run + i, 50));
        entries.push_back({key, row, static_cast<std::uint64_t>(3 * row), 3});
        all.emplace_back(key, row++);
      }
      runs.push_back(folder.path() + "/run-" + std::to_string(run));
      detail::write_key_run(runs.back(), entries);
    }
    std::ranges::sort(all);
    auto const remaining = detail::reduce_key_runs(runs, folder.path() + "/merge", most, {});
    EXPECT_LE(remaining.size(), most);
    detail::merged_key_runs merged(remaining);
    key_entry one;
    std::size_t at = 0;
    for (; merged.next(one); ++at) {
      ASSERT_LT(at, all.size());
      EXPECT_EQ(one.key, all[at].first);
      EXPECT_EQ(one.row, all[at].second);
      EXPECT_EQ(one.offset, static_cast<std::uint64_t>(3 * one.row));
    }
    EXPECT_EQ(at, all.size());
    // The given runs remain, and so do the merged files that are used.
    std::size_t const used = static_cast<std::size_t>(std::ranges::count_if(
        remaining, [](std::string const& path) { return path.find("merge") != path.npos; }));
    EXPECT_EQ(io::list_folder(folder.path())->size(), runs.size() + used);
  }
}

TEST(key_runs, are_reported_by_path_if_damaged) {
  scratch_folder const folder;
  std::string const path = folder.path() + "/run";
  std::vector<key_entry> entries{{"one", 0, 0, 0}, {"two", 1, 0, 0}};
  detail::write_key_run(path, entries);
  std::string const whole = io::read_text(path);
  auto const read = [&](std::string const& bytes) {
    io::write_file(path, bytes);
    return refusal_of<data_error>([&] {
      detail::key_run_reader reader(path);
      for (key_entry one; reader.next(one);) {
      }
    });
  };
  EXPECT_EQ(read(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(read(whole.substr(0, size)).find("sorted keys is damaged (" + path), std::string::npos) << size;
  std::string long_key = whole;
  long_key[10] = '\x7f';
  EXPECT_NE(read(long_key).find("a key of at most 65536 bytes"), std::string::npos);
}

}  // namespace key_runs_test
