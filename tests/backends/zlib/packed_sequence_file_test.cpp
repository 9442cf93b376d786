// SPDX-License-Identifier: Apache-2.0
// Compressed SequenceFiles. tests/golden/sequence_files.py wrote the files with Spark and Hadoop.
#include <zlib.h>

#include <gtest/gtest.h>
#include <atomic>
#include <cohort/records/caffe_on_spark.hpp>
#include <cohort/records/detail/block_cache.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/sequence_file.hpp>
#include <cohort/zlib.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "../../data/refused.hpp"
#include "packed.hpp"

namespace packed_sequence_file_test {

using namespace cohort;

std::string golden(std::string const& name) {
  return std::string(COHORT_SOURCE_DIR) + "/tests/golden/sequence_files/" + name;
}
record_set opened(std::string const& path, record_settings const& settings = {.cache = ""}) {
  return record_set({path}, sequence_file(gzip::inflate), settings);
}
std::string read(record_set const& records, std::int64_t i, char const* field) {
  std::vector<std::byte> memory;
  auto const found = records.read(i, records.field(field), memory);
  return {reinterpret_cast<char const*>(found.data()), found.size()};
}
std::string value_of(int i) {
  return std::string(static_cast<std::size_t>(i * i % 97), static_cast<char>(i));
}

std::string content_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class compressed_sequence_file : public testing::TestWithParam<char const*> {};

TEST_P(compressed_sequence_file, contains_the_expected_records) {
  record_set const records = opened(golden(GetParam()));
  ASSERT_EQ(records.size(), 40);
  for (int i = 39; i >= 0; --i) {
    EXPECT_EQ(read(records, i, "key"), "key " + std::to_string(i));
    EXPECT_EQ(read(records, i, "value"), value_of(i));
  }
}

TEST_P(compressed_sequence_file, is_read_from_a_cached_index) {
  std::string const folder = fresh_path("indices");
  for (int repeated = 0; repeated < 2; ++repeated) {
    record_set const records = opened(golden(GetParam()), {.cache = folder});
    ASSERT_EQ(records.size(), 40);
    EXPECT_EQ(read(records, 17, "value"), value_of(17));
  }
  std::filesystem::remove_all(folder);
}

TEST_P(compressed_sequence_file, is_read_by_several_threads_with_little_memory) {
  for (std::uint64_t const most : {std::uint64_t{0}, std::uint64_t{1500}, std::uint64_t{1} << 20}) {
    record_set const records = opened(golden(GetParam()), {.cache = "", .max_block_bytes = most});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        for (int k = 0; k < 200; ++k) {
          int const i = (k * 7 + t * 11) % 40;
          wrong += read(records, i, "value") != value_of(i);
        }
      });
    for (std::thread& one : threads) one.join();  // bounded: 600 reads
    EXPECT_EQ(wrong, 0);
  }
}

TEST_P(compressed_sequence_file, is_refused_or_read_within_bounds_if_damaged) {
  std::string const good = content_of(golden(GetParam())), path = fresh_path("damaged");
  auto const try_to_read = [&](std::string const& bytes) {
    put(path, bytes);
    try {
      record_set const records = opened(path);
      for (std::int64_t i = 0; i < records.size(); ++i) read(records, i, "value");
    } catch (data_error const& refused) {
      EXPECT_TRUE(refused.why().where.starts_with(path)) << refused.what();
    }
  };
  for (std::size_t length = 0; length < good.size(); length += 13) try_to_read(good.substr(0, length));
  std::string bytes = good;
  for (std::size_t at = 0; at < good.size(); at += 2) {
    char const others[]{'\0', '\xff', static_cast<char>(good[at] ^ 1)};
    bytes[at] = others[at / 2 % 3];
    try_to_read(bytes);
    bytes[at] = good[at];
  }
}

INSTANTIATE_TEST_SUITE_P(files, compressed_sequence_file,
                         testing::Values("texts_plain", "texts_zlib_blocks", "texts_zlib_records",
                                         "texts_gzip_blocks", "texts_gzip_records"));

TEST(packed_sequence_file, reads_keys_and_values_of_other_writable_classes) {
  record_set const records = opened(golden("numbers"));
  ASSERT_EQ(records.size(), 20);
  EXPECT_EQ(read(records, 19, "key"), (std::string{0, 0, 0, 19}));
  EXPECT_EQ(read(records, 19, "value"), "number 19");
}

TEST(packed_sequence_file, parses_the_keys_of_caffe_on_spark) {
  record_set const records = opened(golden("caffe_on_spark"));
  ASSERT_EQ(records.size(), 3);
  std::vector<std::byte> memory;
  auto const key = [&](std::int64_t i) {
    return caffe_on_spark_key::parse(records.read(i, records.field("key"), memory), records.where(i));
  };
  EXPECT_EQ(key(0).id, "00000000");
  EXPECT_EQ(key(0).label, "1");
  EXPECT_EQ(key(0).channels, 3);
  EXPECT_EQ(key(1).height, 2);
  EXPECT_FALSE(key(1).encoded);
  EXPECT_EQ(key(2).id, "cat.jpg");
  EXPECT_TRUE(key(2).encoded);
  EXPECT_EQ(read(records, 0, "value"), "\1\2\3\4\5\6");
}

TEST(packed_sequence_file, refuses_unknown_codecs_and_requires_a_decompressor) {
  expect_parts(refused<data_error>([] { opened(golden("texts_bzip2_blocks")); }),
               {"its codec is not supported", "texts_bzip2_blocks, byte", "DefaultCodec or GzipCodec",
                "got org.apache.hadoop.io.compress.BZip2Codec"});
  auto const without = [](char const* name) {
    return refused<data_error>([&] { record_set({golden(name)}, sequence_file(), {.cache = ""}); });
  };
  expect_parts(without("texts_zlib_blocks"), {"its blocks are compressed", "sequence_file(gzip::inflate)"});
  expect_parts(without("texts_gzip_records"), {"its records are compressed", "GzipCodec"});
}

/// Bytes with their length, as the buffers of a block.
std::string buffer_of(std::string const& plain) {
  std::vector<std::byte> const bytes =
      packed(std::vector<std::byte>(reinterpret_cast<std::byte const*>(plain.data()),
                                    reinterpret_cast<std::byte const*>(plain.data()) + plain.size()));
  std::string length = "\x8c";  // four bytes follow
  for (int shift = 24; shift >= 0; shift -= 8) length += static_cast<char>(bytes.size() >> shift);
  return length + std::string(reinterpret_cast<char const*>(bytes.data()), bytes.size());
}

TEST(packed_sequence_file, refuses_decompression_bombs) {
  std::string const whole = content_of(golden("texts_gzip_blocks"));
  std::size_t const sync_begin = whole.find("GzipCodec") + 9 + 4;
  std::string const head = whole.substr(0, sync_begin + 16),
                    sync = "\xff\xff\xff\xff" + whole.substr(sync_begin, 16);
  std::string const path = fresh_path("bomb");
  auto const says = [&](std::string const& block) {
    put(path, head + sync + block);
    return refused<data_error>([&] { opened(path); });
  };
  std::string const one_key = buffer_of("\4") + buffer_of("\3key");
  auto const vint = [](std::uint32_t value) {
    std::string made = "\x8c";
    for (int shift = 24; shift >= 0; shift -= 8) made += static_cast<char>(value >> shift);
    return made;
  };
  put(path, head + sync + "\1" + one_key + buffer_of("\7") + buffer_of(std::string("\0\0\0\3abc", 7)));
  EXPECT_EQ(read(opened(path), 0, "value"), "abc");
  expect_parts(says("\1" + one_key + buffer_of(vint(1U << 30)) + buffer_of("few")),
               {"a block is damaged", "1073741824 bytes", "too few"});
  expect_parts(says("\1" + one_key + buffer_of(vint((1U << 30) + 1)) + buffer_of("few")),
               {"a block is damaged", "at most 1073741824 bytes"});
  expect_parts(says("\1" + one_key + buffer_of("\7") + buffer_of(std::string(1 << 20, '\0'))),
               {"cannot decompress: the result is too large", "at most 7 bytes"});
  expect_parts(says("\1" + buffer_of(std::string((1 << 26) + 1, '\1'))),
               {"cannot decompress: the result is too large", "at most 67108864 bytes"});
  std::string const many_empty = buffer_of(std::string(1 << 23, '\0')) + buffer_of("");
  expect_parts(says("\x8c" + std::string("\0\x80\0\0", 4) + many_empty + many_empty),
               {"too many records for its size", "at most 1"});
  expect_parts(says("\2" + one_key), {"a block is damaged", "2 lengths"});
  expect_parts(says(std::string("\0", 1) + one_key), {"a block is damaged", "0 lengths"});
  expect_parts(says("\1" + one_key + buffer_of("\7") + buffer_of(std::string("\0\0\0\2abc", 7))),
               {"the length of a key or value is damaged"});
  expect_parts(says("\x87" + one_key), {"a block is damaged", "records"});  // a negative number
}

TEST(block_cache, keeps_the_most_recently_used_blocks) {
  detail::block_cache<std::vector<std::byte>> cache(
      2 * (100 + 256), [](std::vector<std::byte> const& bytes) -> std::uint64_t { return bytes.size(); });
  int made = 0;
  auto const get = [&](std::size_t block) {
    return cache.get({0, block}, [&] {
      ++made;
      return std::vector<std::byte>(100, static_cast<std::byte>(block));
    });
  };
  auto const first = get(1);
  get(2);
  get(1);
  EXPECT_EQ(made, 2);
  get(3);  // evicts block 2
  get(1);
  EXPECT_EQ(made, 3);
  get(2);
  EXPECT_EQ(made, 4);
  EXPECT_EQ(first->at(99), std::byte{1});
  auto const failing = []() -> std::vector<std::byte> { throw data_error({.what = "x"}); };
  EXPECT_THROW(cache.get({1, 1}, failing), data_error);
  EXPECT_EQ(cache.get({1, 1}, [] { return std::vector<std::byte>(1); })->size(), 1U);
}

TEST(packed_sequence_file, requires_a_decompressor_even_if_an_index_is_cached) {
  std::string const folder = fresh_path("packed-indices");
  std::string const path = golden("texts_zlib_blocks");
  EXPECT_GT(record_set({path}, sequence_file(gzip::inflate), {.cache = folder}).size(), 0);
  expect_parts(refused<data_error>([&] { record_set({path}, sequence_file(), {.cache = folder}); }),
               {"the file is compressed", path.c_str(), "gzip::inflate"});
  std::filesystem::remove_all(folder);
}

}  // namespace packed_sequence_file_test
