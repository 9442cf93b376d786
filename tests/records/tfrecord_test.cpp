// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/io/detail/protobuf.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/tfrecord.hpp>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "tar_bytes.hpp"

namespace tfrecord_test {

using namespace cohort;

std::string bytes_of(std::string_view hexadecimal) {
  std::string found;
  for (std::size_t k = 0; k < hexadecimal.size(); k += 2)
    found += static_cast<char>(std::stoi(std::string(hexadecimal.substr(k, 2)), nullptr, 16));
  return found;
}

// Computed by a bitwise CRC-32C, independently of io::crc32c.
std::string const abc = bytes_of("0300000000000000b099490e6162636e57f121");
std::string const empty = bytes_of("000000000000000029039807d8ea82a2");

record_set opened(std::string const& bytes) {
  std::string const path = fresh_path("records.tfrecord");
  tar_bytes::write(path, bytes);
  return record_set({path}, tfrecord(), {.cache = ""});
}

std::string text(record_set const& records, std::int64_t record) {
  std::vector<std::byte> memory;
  auto const found = records.read(record, records.field("record"), memory);
  return {reinterpret_cast<char const*>(found.data()), found.size()};
}

TEST(tfrecord, reads_records_at_any_index) {
  record_set const records = opened(abc + empty + abc);
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(text(records, 2), "abc");
  EXPECT_EQ(text(records, 1), "");
  EXPECT_EQ(text(records, 0), "abc");
  EXPECT_EQ(records.key(1), "");
  EXPECT_EQ(opened("").size(), 0);
}

TEST(tfrecord, refuses_damaged_files) {
  auto const says = [](std::string const& bytes) { return refused<data_error>([&] { opened(bytes); }); };
  expect_parts(says(abc + empty.substr(0, 5)),
               {"is truncated", "records.tfrecord, byte 19", "12 bytes before a record", "5 bytes"});
  for (std::size_t length : {12, 14, 18})
    expect_parts(says(abc.substr(0, length)), {"is truncated", "byte 0", "3 bytes of a record"});
  for (std::size_t at = 0; at < 12; ++at) {
    std::string wrong = abc;
    wrong[at] ^= 4;
    expect_parts(says(wrong), {"the length of a record is damaged", "checksum"});
  }
  expect_parts(says("\x1f\x8b and more than twelve bytes"), {"is compressed", "gzip"});
  expect_parts(says("\x78\x9c and more than twelve bytes"), {"is compressed", "TFRecordOptions", "zlib"});
}

TEST(tfrecord, verifies_the_checksum_of_a_record_when_it_is_read) {
  for (std::size_t at = 12; at < abc.size(); ++at) {
    std::string wrong = abc;
    wrong[at] ^= 1;
    record_set const records = opened(abc + wrong);
    EXPECT_EQ(text(records, 0), "abc");
    expect_parts(refused<data_error>([&] { text(records, 1); }),
                 {"a record is damaged", "record 1", "checksum"});
  }
}

/// A field of a map: a feature with one list of kind 1 (bytes), 2 (floats) or 3 (integers).
std::string entry(std::string const& name, std::uint32_t kind, detail::protobuf_writer const& list) {
  detail::protobuf_writer feature, made;
  feature.bytes(kind, list.text());
  made.bytes(1, name);
  made.bytes(2, feature.text());
  return made.text();
}

TEST(tf_example, parses_features_by_name) {
  detail::protobuf_writer texts, packed, numbers, features, example;
  texts.bytes(1, "first");
  texts.bytes(1, std::string("\0x", 2));
  float const values[]{1.5F, -2};
  packed.bytes(1, {reinterpret_cast<char const*>(values), sizeof values});
  numbers.integer(1, -5);
  numbers.integer(1, std::int64_t{1} << 40);
  features.bytes(1, entry("texts", 1, texts));
  features.bytes(1, entry("values", 2, packed));
  features.bytes(1, entry("numbers", 3, numbers));
  example.integer(7, 1);  // unknown fields are skipped
  example.bytes(1, features.text());
  std::string const& message = example.text();
  auto const found = tf_example(std::as_bytes(std::span(message.data(), message.size())), "here");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at("texts").bytes, (std::vector<std::string_view>{"first", std::string_view("\0x", 2)}));
  EXPECT_EQ(found.at("values").floats, (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(found.at("numbers").integers, (std::vector<std::int64_t>{-5, std::int64_t{1} << 40}));
  EXPECT_TRUE(tf_example({}, "here").empty());
  for (std::size_t length = 1; length < message.size(); ++length) {
    if (length == 2) continue;  // the unknown field alone
    expect_parts(
        refused<data_error>([&] { tf_example(std::as_bytes(std::span(message.data(), length)), "here"); }),
        {"here"});
  }
}

}  // namespace tfrecord_test
