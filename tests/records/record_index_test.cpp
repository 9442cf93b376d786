// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/records/record_index.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../data/refused.hpp"

namespace record_index_test {

using namespace cohort;

record_index two_records() {
  return {.fields = {"jpg", ""}, .places = {{0, 5}, {}, {512, 0}, {9, 1}}, .keys = {"a", "b/ä"}};
}

TEST(record_index, round_trips_through_its_encoding) {
  for (record_index const& one :
       {two_records(), record_index{}, record_index{.fields = {"record"}},
        record_index{.fields = {"x"}, .places = {{1, 2}}},
        record_index{
            .fields = {"x"}, .places = {{500, 2}, {502, 3}}, .blocks = {{500, 5, 40, 9}, {505, 1, 50, 2}}},
        record_index{.fields = {"x", "y"}, .places = {{80, 4}, {512, 1}}, .rows = 7},
        record_index{.fields = {"x", "y"},
        .places = {{80, 4}, {512, 1}},
        .blocks = {{512, 12, 40, 12, packed_block::compression::lzf, true, 77, 4}},
        .grids = {{}, {{7, 3}, {4, 2}, 4, 1, 0x3f800000}},
        .rows = 7}}) {
    auto const read = detail::decoded_index(detail::encoded_index(one));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, one);
  }
  EXPECT_EQ(two_records().size(), 2);
}

TEST(record_index, of_rows_stores_one_offset_per_field) {
  record_index const rows{.fields = {"x", "y"}, .places = {{80, 4}, {512, 1}}, .rows = 7};
  EXPECT_EQ(rows.size(), 7);
  EXPECT_EQ(rows.place(0, 1), (field_place{512, 1}));
  EXPECT_EQ(rows.place(6, 0), (field_place{104, 4}));
  record_index wrong = rows;
  wrong.places.push_back({1, 1});
  EXPECT_FALSE(detail::decoded_index(detail::encoded_index(wrong)));
  wrong = rows;
  wrong.rows = std::uint64_t{1} << 61;
  EXPECT_FALSE(detail::decoded_index(detail::encoded_index(wrong))) << "rows of 4 bytes end beyond 2^63";
}

TEST(record_index, is_refused_if_the_bytes_are_damaged) {
  std::string const good = detail::encoded_index(two_records());
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(detail::decoded_index(good.substr(0, length))) << length;
  EXPECT_FALSE(detail::decoded_index(good + "x"));
  for (std::size_t at = 0; at < good.size(); at += 8) {  // no huge allocation either
    std::string wrong = good;
    wrong.replace(at, 8, 8, '\xff');
    detail::decoded_index(wrong);
  }
}

class cached_index : public testing::Test {
 protected:
  cached_index() {
    std::filesystem::remove_all(folder_);
    std::ofstream(path_) << "content";
  }
  ~cached_index() override { std::filesystem::remove_all(folder_); }

  record_index read(std::string const& name = "counting 1") {
    return detail::index_of(path_,
                            {.name = name,
                             .index =
                                 [this](std::string const&) {
                                   ++scans_;
                                   return two_records();
                                 }},
                            folder_);
  }

  std::string folder_ = fresh_path("indices");
  std::string path_ = fresh_path("records");
  int scans_ = 0;
};

TEST_F(cached_index, is_built_once) {
  EXPECT_EQ(read(), two_records());
  EXPECT_EQ(read(), two_records());
  EXPECT_EQ(scans_, 1);
  read("counting 2");
  EXPECT_EQ(scans_, 2) << "another format";
}

TEST_F(cached_index, is_rebuilt_after_a_change_of_the_file) {
  read();
  std::ofstream(path_) << "longer content";
  read();
  EXPECT_EQ(scans_, 2);
  std::filesystem::last_write_time(path_, std::filesystem::last_write_time(path_) + std::chrono::seconds(1));
  read();
  EXPECT_EQ(scans_, 3) << "another time";
  auto const time = std::filesystem::last_write_time(path_);
  std::ofstream(path_) << "LONGER CONTENT";
  std::filesystem::last_write_time(path_, time);
  read();
  EXPECT_EQ(scans_, 4) << "another checksum";
}

TEST_F(cached_index, is_rebuilt_if_the_cache_is_damaged) {
  read();
  for (auto const& file : std::filesystem::directory_iterator(folder_))
    std::ofstream(file.path(), std::ios::app) << "x";
  EXPECT_EQ(read(), two_records());
  EXPECT_EQ(scans_, 2);
  folder_ = "";
  read();
  EXPECT_EQ(scans_, 3) << "no cache";
}

}  // namespace record_index_test
