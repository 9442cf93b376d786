// SPDX-License-Identifier: Apache-2.0
// lmdb_python_test.py compares databases of liblmdb.
#include <gtest/gtest.h>

#include <cohort/records/lmdb.hpp>
#include <cohort/records/record_set.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "tar_bytes.hpp"

namespace lmdb_test {

using namespace cohort;

constexpr std::size_t page = 4096;

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(&bytes[at], &value, sizeof value);
}

/// A database of one leaf page with the entries k → "value" and m → 5 bytes on an overflow page.
std::string database() {
  std::string made(4 * page, '\0');
  for (std::size_t number : {0, 1}) {
    std::size_t const at = number * page;
    put<std::uint64_t>(made, at, number);
    put<std::uint16_t>(made, at + 10, 8);                // meta page
    put<std::uint32_t>(made, at + 16, 0xbeefc0de);       // magic
    put<std::uint32_t>(made, at + 20, 1);                // version
    put<std::uint32_t>(made, at + 40, page);             // page size
    put<std::uint16_t>(made, at + 94, 1);                // depth
    put<std::uint64_t>(made, at + 120, 2);               // entries
    put<std::uint64_t>(made, at + 128, number ? 2 : 0);  // root; page 0 is an older transaction
    put<std::uint64_t>(made, at + 144, number);          // transaction
  }
  std::size_t const leaf = 2 * page;
  put<std::uint64_t>(made, leaf, 2);
  put<std::uint16_t>(made, leaf + 10, 2);
  put<std::uint16_t>(made, leaf + 12, 20);  // two nodes
  put<std::uint16_t>(made, leaf + 16, 100);
  put<std::uint16_t>(made, leaf + 18, 200);
  put<std::uint32_t>(made, leaf + 100, 5);
  put<std::uint16_t>(made, leaf + 106, 1);
  made.replace(leaf + 108, 6, "kvalue");
  put<std::uint32_t>(made, leaf + 200, 5);
  put<std::uint16_t>(made, leaf + 204, 1);  // on an overflow page
  put<std::uint16_t>(made, leaf + 206, 1);
  made[leaf + 208] = 'm';
  put<std::uint64_t>(made, leaf + 209, 3);
  made.replace(3 * page + 16, 5, "other");
  return made;
}

record_set opened(std::string const& bytes) {
  std::string const path = fresh_path("data.mdb");
  tar_bytes::write(path, bytes);
  return record_set({path}, lmdb(), {.cache = ""});
}

TEST(lmdb, reads_values_in_a_page_and_on_overflow_pages) {
  record_set const records = opened(database());
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records.key(0), "k");
  EXPECT_EQ(records.key(1), "m");
  std::vector<std::byte> memory;
  for (auto const& [record, wanted] : {std::pair{0, "value"}, {1, "other"}}) {
    auto const found = records.read(record, records.field("value"), memory);
    EXPECT_EQ(std::string_view(reinterpret_cast<char const*>(found.data()), found.size()), wanted);
  }
}

TEST(lmdb, refuses_damaged_pages) {
  auto const says = [](auto change) {
    std::string bytes = database();
    change(bytes);
    return refused<data_error>([&] { opened(bytes); });
  };
  auto const with = [&](std::size_t at, auto value) {
    return says([&](std::string& bytes) { put(bytes, at, value); });
  };
  std::size_t const leaf = 2 * page;
  expect_parts(with(16, std::uint32_t{1}),
               {"cannot read the LMDB file: it is not an LMDB file", "data.mdb, page 0"});
  expect_parts(with(20, std::uint32_t{2}), {"unsupported version", "version 1", "got 2"});
  expect_parts(with(40, std::uint32_t{5000}), {"page size is invalid", "5000"});
  expect_parts(with(page + 40, std::uint32_t{8192}), {"page sizes differ"});
  expect_parts(with(page + 92, std::uint16_t{4}), {"several values for a key"});
  expect_parts(with(page + 128, std::uint64_t{4}), {"its tree is damaged", "page 4"});
  expect_parts(with(page + 94, std::uint16_t{0}),
               {"its tree is damaged", "expected 1 to 32 levels, got 0 levels"});
  expect_parts(with(page + 94, std::uint16_t{2}), {"its tree is damaged", "a branch page"});
  expect_parts(with(page + 120, std::uint64_t{3}), {"the number of entries is wrong", "expected 3, got 2"});
  expect_parts(with(leaf, std::uint64_t{7}), {"its tree is damaged", "a leaf page"});
  for (int lower : {15, 17, 5000})
    expect_parts(with(leaf + 12, static_cast<std::uint16_t>(lower)), {"an offset in the page"});
  for (int node : {19, 4090})
    expect_parts(with(leaf + 16, static_cast<std::uint16_t>(node)), {"a node in the page"});
  expect_parts(with(leaf + 100, std::uint32_t{5000}),
               {"an entry is damaged", "a key and a value in the page"});
  expect_parts(with(leaf + 104, std::uint16_t{2}), {"named databases", "the entry k"});
  expect_parts(with(leaf + 209, std::uint64_t{4}), {"an entry is damaged", "a value in the file", "page 4"});
  expect_parts(with(leaf + 200, std::uint32_t{4081}), {"a value in the file", "4081 bytes at page 3"});
  expect_parts(says([](std::string& bytes) { bytes.resize(100); }), {"it is truncated", "got 100 bytes"});
}

TEST(lmdb, refuses_entries_that_overlap) {
  std::string bytes = database();
  std::size_t const leaf = 2 * page;
  int const entries = 800;  // all at the same place
  put<std::uint16_t>(bytes, leaf + 12, static_cast<std::uint16_t>(16 + 2 * entries));
  std::string const entry = bytes.substr(leaf + 100, 14);
  bytes.replace(leaf + 3000, entry.size(), entry);
  for (int k = 0; k < entries; ++k)
    put<std::uint16_t>(bytes, leaf + 16 + 2 * static_cast<std::size_t>(k), 3000);
  expect_parts(refused<data_error>([&] { opened(bytes); }),
               {"its tree is damaged", "entries that do not overlap"});
}

TEST(lmdb, refuses_a_tree_with_a_cycle) {
  std::string bytes = database();
  std::size_t const leaf = 2 * page;
  put<std::uint16_t>(bytes, leaf + 10, 1);  // a branch page whose nodes lead to itself
  put<std::uint16_t>(bytes, page + 94, 30);
  put<std::uint32_t>(bytes, leaf + 100, 2);
  expect_parts(refused<data_error>([&] { opened(bytes); }), {"its tree is damaged", "at most 4 pages"});
}

TEST(lmdb_file, is_data_mdb_in_a_folder) {
  std::string const folder = fresh_path("database");
  std::filesystem::create_directory(folder);
  EXPECT_EQ(lmdb_file(folder), folder + "/data.mdb");
  EXPECT_EQ(lmdb_file("/nowhere/data.mdb"), "/nowhere/data.mdb");
  std::filesystem::remove(folder);
}

}  // namespace lmdb_test
