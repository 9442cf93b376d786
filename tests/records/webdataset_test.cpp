// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/records/record_set.hpp>
#include <cohort/records/webdataset.hpp>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "tar_bytes.hpp"

namespace webdataset_test {

using cohort::record_set;
using tar_bytes::end;
using tar_bytes::member;
using tar_bytes::pax;

record_set opened(std::string const& bytes) {
  std::string const path = fresh_path("archive.tar");
  tar_bytes::write(path, bytes);
  return record_set({path}, cohort::webdataset(), {.cache = ""});
}

std::string text(record_set const& records, std::int64_t record, std::string_view field) {
  std::vector<std::byte> memory;
  auto const found = records.read(record, records.field(field), memory);
  return {reinterpret_cast<char const*>(found.data()), found.size()};
}

TEST(webdataset, groups_consecutive_files_of_the_same_name) {
  std::string const long_text(1500, 'x');
  auto const records = opened(member("a/1.jpg", long_text) + member("a/1.cls", "7") + member("a/2.cls", "8")
                              + member("./a/2.seg.png", "") + member("b.jpg", "picture") + end());
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records.fields(), (std::vector<std::string>{"jpg", "cls", "seg.png"}));
  EXPECT_EQ(records.key(0), "a/1");
  EXPECT_EQ(records.key(1), "a/2");
  EXPECT_EQ(records.key(2), "b");
  EXPECT_EQ(text(records, 0, "jpg"), long_text);
  EXPECT_EQ(text(records, 0, "cls"), "7");
  EXPECT_EQ(text(records, 1, "cls"), "8");
  EXPECT_EQ(text(records, 1, "seg.png"), "");
  EXPECT_EQ(text(records, 2, "jpg"), "picture");
  for (auto const& [record, field, has] : std::vector<std::tuple<int, char const*, bool>>{
           {0, "seg.png", false}, {1, "jpg", false}, {1, "seg.png", true}, {2, "cls", false}})
    EXPECT_EQ(records.has(record, records.field(field)), has) << record << field;
}

TEST(webdataset, begins_a_new_record_if_a_name_recurs) {
  auto const records = opened(member("a.x", "1") + member("b.x", "2") + member("a.x", "3") + end());
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records.key(2), "a");
}

TEST(webdataset, reads_concatenated_archives) {
  auto const records =
      opened(member("a.x", "1") + end() + end() + member("b.x", "2") + end() + std::string(100, '\0'));
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(text(records, 1, "x"), "2");
  expect_parts(
      refused<cohort::data_error>([&] { opened(member("a.x", "1") + end() + std::string(600, 'z')); }),
      {"a number in the tar archive is damaged", "byte 2048"});
}

TEST(webdataset, converts_fields_to_lower_case_and_skips_names_without_a_dot) {
  auto const records = opened(member("README", "x") + member("a.b/1.JPG", "1") + member("a.b/1.Cls", "2")
                              + member("a.b/2.jpg", "3") + member("a.b/LICENSE", "x") + end());
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records.fields(), (std::vector<std::string>{"jpg", "cls"}));
  EXPECT_EQ(records.key(0), "a.b/1");
  EXPECT_EQ(text(records, 0, "cls"), "2");
}

TEST(webdataset, refuses_more_than_256_fields) {
  std::string archive;
  for (int k = 0; k <= 256; ++k) archive += member("frame_0." + std::to_string(1000 + k) + ".png", "");
  expect_parts(refused<cohort::data_error>([&] { opened(archive + end()); }),
               {"too many fields", "at most 256 fields; a field is the rest of a name after its first dot",
                "got frame_0.1256.png"});
}

TEST(webdataset, skips_members_that_are_not_samples) {
  auto const records = opened(member("folder/", "", '5') + member("link.jpg", "", '2')
                              + member("__info__.json", "{}") + member("a/.hidden", "x")
                              + member("pax", pax("comment", "c"), 'g') + member("1.x", "1") + end());
  EXPECT_EQ(records.size(), 1);
  EXPECT_EQ(opened(end()).size(), 0);
  EXPECT_EQ(opened("").size(), 0);
  EXPECT_EQ(opened(member("1.x", "1")).size(), 1) << "an archive may end without empty blocks";
}

TEST(webdataset, reads_long_names_and_sizes_of_pax_and_gnu) {
  std::string const name = std::string(150, 'n') + "/0001";
  auto const by_pax = opened(member("h", pax("path", name + ".txt") + pax("size", "3"), 'x')
                             + member("short", "abc") + member("next.txt", "d") + end());
  EXPECT_EQ(by_pax.key(0), name);
  EXPECT_EQ(text(by_pax, 0, "txt"), "abc");
  EXPECT_EQ(by_pax.key(1), "next");
  auto const by_gnu = opened(member("././@LongLink", name + ".txt" + '\0', 'L') + member("short", "abc")
                             + member("next.txt", "d") + end());
  EXPECT_EQ(by_gnu.key(0), name);
  EXPECT_EQ(by_gnu.key(1), "next");
  std::string prefixed = member("0002.txt", "e");
  prefixed.replace(345, 3, "a/b");
  tar_bytes::sign(prefixed);
  auto const by_prefix = opened(prefixed + end());
  EXPECT_EQ(by_prefix.key(0), "a/b/0002");
  std::string binary = member("0003.txt", "abc");
  binary.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\3", 12));
  tar_bytes::sign(binary);
  EXPECT_EQ(text(opened(binary + end()), 0, "txt"), "abc");
}

TEST(webdataset, refuses_damaged_archives) {
  auto const says = [](std::string const& bytes) {
    return refused<cohort::data_error>([&] { opened(bytes); });
  };
  std::string const good = member("1.x", std::string(600, 'a')), first = member("0.x", "b");
  std::string wrong = good;
  wrong[3] ^= 1;
  expect_parts(says(first + wrong),
               {"a header of the tar archive is damaged", "archive.tar, byte 1024", "checksum"});
  expect_parts(says(good.substr(0, 1000)),
               {"the tar archive is truncated", "600 bytes of a file", "488 bytes"});
  expect_parts(says(first + good.substr(0, 100)),
               {"truncated", "byte 1024", "a header of 512 bytes", "100 bytes"});
  expect_parts(says(member("1.x", "a") + member("1.x", "b")), {"has a field twice", "1.x"});
  expect_parts(says("\x1f\x8b" + std::string(600, 'z')), {"is compressed", "gzip"});
  std::string digits = good;
  digits[130] = '9';
  tar_bytes::sign(digits);
  expect_parts(says(digits), {"a number in the tar archive is damaged", "octal digits"});
  std::string huge = good;
  huge.replace(124, 12, std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12));
  tar_bytes::sign(huge);
  expect_parts(says(huge), {"too large"});
  for (std::string const& header : {std::string("x path=a\n"), std::string("99 path=a\n"),
                                    std::string("4 p\n"), std::string("10 path=ab")})
    expect_parts(says(member("h", header, 'x') + good), {"a pax header of the tar archive is damaged"});
  expect_parts(says(member("h", pax("size", "3x"), 'x') + good), {"a pax header", "a size", "3x"});
  expect_parts(says(member("h", pax("GNU.sparse.major", "1"), 'x') + good), {"is sparse"});
  expect_parts(says(member("name", std::string(2 << 20, 'n'), 'L') + good), {"is too long"});
}

}  // namespace webdataset_test
