// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cohort/records/record_set.hpp>
#include <cohort/records/webdataset.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "../data/refused.hpp"
#include "tar_bytes.hpp"

namespace record_set_test {

using cohort::record_set;
using tar_bytes::end;
using tar_bytes::member;

std::string text(record_set const& records, std::int64_t record, std::string_view field) {
  std::vector<std::byte> memory;
  auto const found = records.read(record, records.field(field), memory);
  return {reinterpret_cast<char const*>(found.data()), found.size()};
}

/// Archives with 3, 0 and 2 records; the last archive has other fields.
std::vector<std::string> three_archives() {
  std::vector<std::string> const paths{fresh_path("0.tar"), fresh_path("1.tar"), fresh_path("2.tar")};
  tar_bytes::write(paths[0], member("0.a", "zero") + member("1.a", "one") + member("2.a", "two") + end());
  tar_bytes::write(paths[1], end());
  tar_bytes::write(paths[2], member("3.b", "three") + member("3.a", "3") + member("4.b", "four") + end());
  return paths;
}

TEST(record_set, assigns_consecutive_numbers_to_the_records_of_all_files) {
  auto const paths = three_archives();
  record_set const records(paths, cohort::webdataset(), {.cache = ""});
  ASSERT_EQ(records.size(), 5);
  EXPECT_EQ(records.fields(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(text(records, 2, "a"), "two");
  EXPECT_EQ(text(records, 3, "a"), "3");
  EXPECT_EQ(text(records, 4, "b"), "four");
  EXPECT_FALSE(records.has(0, records.field("b")));
  EXPECT_FALSE(records.has(4, records.field("a")));
  EXPECT_EQ(records.where(3), paths[2] + ", record 0, 3");
  EXPECT_EQ(records.stored_bytes(4, records.field("b")), 4U);
  EXPECT_EQ(records.stored_bytes(4, records.field("a")), 0U);
}

TEST(record_set, reports_missing_fields_and_files) {
  auto const paths = three_archives();
  record_set const records(paths, cohort::webdataset(), {.cache = "", .max_field_bytes = 4});
  std::vector<std::byte> memory;
  expect_parts(refused<cohort::setting_error>([&] { records.field("c"); }),
               {"do not have this field", "one of a, b", "got c"});
  expect_parts(refused<cohort::data_error>([&] { records.read(0, records.field("b"), memory); }),
               {"a record does not have a field", "0.tar, record 0, 0", "the field b"});
  expect_parts(refused<cohort::data_error>([&] { records.read(3, records.field("b"), memory); }),
               {"is too large", "field b", "at most 4 bytes", "5 bytes"});
  expect_parts(refused<cohort::setting_error>([] { record_set({}, cohort::webdataset()); }),
               {"at least 1 path"});
  expect_parts(refused<cohort::file_error>([] { record_set({"/nowhere/x.tar"}, cohort::webdataset()); }),
               {"/nowhere/x.tar"});
}

TEST(record_set, reports_a_file_that_changed) {
  auto const paths = three_archives();
  record_set const records(paths, cohort::webdataset(), {.cache = ""});
  tar_bytes::write(paths[0], member("0.a", "zero") + end());
  std::vector<std::byte> memory;
  expect_parts(refused<cohort::file_error>([&] { records.read(2, 0, memory); }),
               {"changed after it was indexed", "0.tar"});
  EXPECT_EQ(text(records, 4, "b"), "four");
  ASSERT_EQ(::truncate(paths[2].c_str(), 600), 0);
  expect_parts(refused<cohort::file_error>([&] { records.read(4, 1, memory); }),
               {"became shorter", "2.tar", "600 bytes"});
}

TEST(record_set, reads_many_files_from_threads_with_few_open_files) {
  std::vector<std::string> paths;
  for (int k = 0; k < 300; ++k) {
    paths.push_back(fresh_path("many" + std::to_string(k) + ".tar"));
    tar_bytes::write(paths.back(), member("1.a", std::to_string(k)) + end());
  }
  auto const open_now = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  auto const before = open_now();
  record_set const records(paths, cohort::webdataset(), {.cache = ""});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::byte> memory;
      for (int k = 0; k < 900; ++k) {
        std::int64_t const record = (k * 7 + t * 50) % 300;
        auto const found = records.read(record, 0, memory);
        wrong += std::string_view(reinterpret_cast<char const*>(found.data()), found.size())
                 != std::to_string(record);
      }
    });
  for (std::thread& one : threads) one.join();  // bounded: 3600 reads
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(open_now() - before, 128);
}

TEST(numbered_paths, expands_a_range) {
  EXPECT_EQ(cohort::numbered_paths("a.tar"), std::vector<std::string>{"a.tar"});
  EXPECT_EQ(cohort::numbered_paths("d/a-{0008..0011}.tar"),
            (std::vector<std::string>{"d/a-0008.tar", "d/a-0009.tar", "d/a-0010.tar", "d/a-0011.tar"}));
  EXPECT_EQ(cohort::numbered_paths("{9..10}"), (std::vector<std::string>{"9", "10"}));
  EXPECT_EQ(cohort::numbered_paths("{18446744073709551614..18446744073709551615}"),
            (std::vector<std::string>{"18446744073709551614", "18446744073709551615"}));
  for (char const* wrong :
       {"a{1..}", "a{..1}", "a{2..1}", "a{1}", "a{1..2", "a1..2}", "{x..y}", "{0..1}{0..1}", "{0..1000000}"})
    expect_parts(refused<cohort::setting_error>([&] { cohort::numbered_paths(wrong); }),
                 {"invalid pattern", wrong});
}

}  // namespace record_set_test
