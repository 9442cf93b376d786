// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/records/record_set.hpp>
#include <cohort/records/sequence_file.hpp>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "tar_bytes.hpp"

namespace sequence_file_test {

using namespace cohort;

std::string const bytes_class = "org.apache.hadoop.io.BytesWritable",
                  text_class = "org.apache.hadoop.io.Text";
std::string const sync = "0123456789abcdef";

std::string big(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}
std::string text(std::string const& of) {  // shorter than 128 bytes
  return static_cast<char>(of.size()) + of;
}
std::string head(std::string const& key, std::string const& value, std::string const& metadata = big(0)) {
  return "SEQ\6" + text(key) + text(value) + std::string(2, '\0') + metadata + sync;
}
std::string record(std::string const& key, std::string const& value) {
  return big(static_cast<std::uint32_t>(key.size() + value.size()))
         + big(static_cast<std::uint32_t>(key.size())) + key + value;
}
std::string counted(std::string const& of) { return big(static_cast<std::uint32_t>(of.size())) + of; }

record_set opened(std::string const& bytes) {
  std::string const path = fresh_path("part-00000");
  tar_bytes::write(path, bytes);
  return record_set({path}, sequence_file(), {.cache = ""});
}
std::string read(record_set const& records, std::int64_t i, char const* field) {
  std::vector<std::byte> memory;
  auto const found = records.read(i, records.field(field), memory);
  return {reinterpret_cast<char const*>(found.data()), found.size()};
}

TEST(sequence_file, reads_keys_and_values) {
  std::string const long_value(300, 'v');
  record_set const records = opened(head(text_class, bytes_class, big(1) + text("a") + text("b"))
                                    + record(text("first"), counted("one")) + big(0xffffffff) + sync
                                    + record(text(""), counted(long_value)));
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(read(records, 0, "key"), "first");
  EXPECT_EQ(read(records, 0, "value"), "one");
  EXPECT_EQ(read(records, 1, "key"), "");
  EXPECT_EQ(read(records, 1, "value"), long_value);
}

TEST(sequence_file, reads_long_texts_and_other_writable_classes) {
  std::string const long_text(300, 't'),
      length = std::string("\x8e", 1) + "\x01\x2c";  // −114: two bytes follow
  record_set const records =
      opened(head(text_class, "org.apache.hadoop.io.IntWritable") + record(length + long_text, big(7)));
  EXPECT_EQ(read(records, 0, "key"), long_text);
  EXPECT_EQ(read(records, 0, "value"), big(7));
}

TEST(sequence_file, refuses_unsupported_and_damaged_files) {
  auto const says = [](std::string const& bytes) { return refused<data_error>([&] { opened(bytes); }); };
  std::string const good = head(bytes_class, bytes_class), one = record(counted("k"), counted("value"));
  EXPECT_EQ(opened(good).size(), 0);
  for (std::size_t length = 0; length < good.size(); ++length)
    expect_parts(says(good.substr(0, length)), {"cannot read the SequenceFile"});
  for (std::size_t length = 1; length < one.size(); ++length)
    expect_parts(says(good + one.substr(0, length)), {"it is truncated", "part-00000, byte"});
  expect_parts(says("SEQ\5" + good.substr(4)), {"unsupported version", "version 6", "got 5"});
  expect_parts(says("TEQ" + good.substr(3)), {"is not a SequenceFile"});
  std::string const start = "SEQ\6" + text(bytes_class) + text(bytes_class),
                    codec = text("org.apache.hadoop.io.compress.DefaultCodec");
  expect_parts(says(start + std::string("\1\0", 2) + codec + big(0) + sync),
               {"its records are compressed", "sequence_file(gzip::inflate)", "DefaultCodec"});
  expect_parts(says(start + std::string("\1\0", 2) + text("org.apache.hadoop.io.compress.SnappyCodec")
                    + big(0) + sync),
               {"its codec is not supported", "SnappyCodec"});
  expect_parts(says(start + std::string("\0\1", 2) + big(0) + sync), {"the header is damaged"});
  expect_parts(says(start + std::string("\1\1", 2) + codec + big(0) + sync), {"its blocks are compressed"});
  expect_parts(says(good + big(0xffffffff) + "0123456789abcdeX"), {"a sync mark is damaged"});
  expect_parts(says(good + big(4) + big(5) + "abcde"), {"the lengths of a record are damaged", "got 5"});
  expect_parts(says(good + record(counted("k"), big(3) + "value")),
               {"the length of a key or value is damaged"});
  expect_parts(says(good + record("k", counted("value"))), {"the length of a key or value is damaged"});
  expect_parts(says(head(bytes_class, bytes_class, big(5000))), {"its metadata is damaged"});
}

}  // namespace sequence_file_test
