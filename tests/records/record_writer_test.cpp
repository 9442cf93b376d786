// SPDX-License-Identifier: Apache-2.0
// webdataset_python_test.py and tools/cohort/data_test.py read such files with Python.
#include <gtest/gtest.h>
#include <cohort/records/record_set.hpp>
#include <cohort/records/record_writer.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cohort/records/webdataset.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "../data/refused.hpp"

namespace record_writer_test {

using namespace cohort;

std::span<std::byte const> bytes_of(std::string const& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string read(record_set const& records, std::int64_t i, std::string_view field) {
  std::vector<std::byte> memory;
  auto const found = records.read(i, records.field(field), memory);
  return {reinterpret_cast<char const*>(found.data()), found.size()};
}

TEST(webdataset_writer, writes_archives_that_webdataset_reads) {
  std::string const path = fresh_path("written.tar"),
                    long_key = std::string(300, 'n') + "/" + std::string(90, 'm');
  std::vector<std::string> const contents{"", "x", std::string(512, 'y'), std::string(513, 'z')};
  webdataset_writer to(path);
  for (std::string const& key : {std::string("a/1"), long_key, std::string(95, 'k')})
    for (std::size_t k = 0; k < contents.size(); ++k)
      to.add(key, "field" + std::to_string(k) + ".txt", bytes_of(contents[k]));
  EXPECT_FALSE(std::filesystem::exists(path));
  to.commit();
  EXPECT_EQ(std::filesystem::file_size(path) % 512, 0U);
  record_set const records({path}, webdataset(), {.cache = ""});
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records.key(1), long_key);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < contents.size(); ++k)
      EXPECT_EQ(read(records, i, "field" + std::to_string(k) + ".txt"), contents[k]);
}

TEST(webdataset_writer, refuses_names_that_would_be_read_differently) {
  std::string const path = fresh_path("refused.tar");
  webdataset_writer to(path);
  auto const says = [&](std::string_view key, std::string_view field) {
    return refused<data_error>([&] { to.add(key, field, {}); });
  };
  to.add("1", "a", {});
  for (std::string_view const key : {"", "a/", "1.5", "a/__x", "./1", "a/.b"})
    expect_parts(says(key, "a"),
                 {"cannot be written to a WebDataset", "refused.tar, key", "a key with a non-empty name"});
  for (std::string_view const field : {"", "a/b"}) expect_parts(says("1", field), {"a field with a name"});
  expect_parts(says("1", "JPG"), {"a field in lower case"});
  expect_parts(says("1", "a"), {"each field once", "key 1, field a"});
  to.add("2", "a", {});
  expect_parts(says("1", "b"), {"one after the other", "another key between them"});
}

TEST(tfrecord_writer, writes_files_that_tfrecord_reads) {
  std::string const path = fresh_path("written.tfrecord"), long_text(100'000, 'l');
  tfrecord_writer to(path);
  for (std::string const& one : {std::string("one"), std::string(), long_text}) to.add(bytes_of(one));
  to.commit();
  record_set const records({path}, tfrecord(), {.cache = ""});
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(read(records, 0, "record"), "one");
  EXPECT_EQ(read(records, 1, "record"), "");
  EXPECT_EQ(read(records, 2, "record"), long_text);
}

}  // namespace record_writer_test
