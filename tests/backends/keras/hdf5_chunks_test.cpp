// SPDX-License-Identifier: Apache-2.0
// needs: keras zlib
// Arrays of HDF5 files in chunks, compressed and growing.
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/hdf5_rows.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/records/detail/block_content.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/zlib.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "../../data/refused.hpp"
#include "damaged_hdf5.hpp"

namespace hdf5_chunks_test {

using namespace cohort;

/// A file that golden/hdf5_rows.py wrote: arrays with 7 rows.
std::string const path = COHORT_SOURCE_DIR "/tests/golden/hdf5_chunks.h5";

template <class T>
std::vector<T> rows_of(record_set const& records, char const* field) {
  std::vector<T> values;
  std::vector<std::byte> memory;
  for (std::int64_t record = 0; record < records.size(); ++record) {
    auto const bytes = records.read(record, records.field(field), memory);
    values.resize(values.size() + bytes.size() / sizeof(T));
    std::memcpy(values.data() + values.size() - bytes.size() / sizeof(T), bytes.data(), bytes.size());
  }
  return values;
}

template <class T>
std::vector<T> counted(int count, int step = 1) {
  std::vector<T> values;
  for (int k = 0; k < count; ++k) values.push_back(static_cast<T>(k * step));
  return values;
}

TEST(hdf5_chunks, are_read_as_rows) {
  std::vector<std::string> const arrays{"plain", "gzip", "shuffled", "small", "grown", "label", "mixed"};
  std::string const folder = fresh_path("hdf5-indices");
  for (char const* const run : {"indexed", "from the cached index"}) {
    SCOPED_TRACE(run);
    record_set const records({path}, hdf5_rows(arrays, gzip::inflate), {.cache = folder});
    ASSERT_EQ(records.size(), 7);
    EXPECT_EQ(rows_of<float>(records, "plain"), counted<float>(105));
    EXPECT_EQ(rows_of<double>(records, "gzip"), counted<double>(105));
    EXPECT_EQ(rows_of<std::int32_t>(records, "shuffled"), counted<std::int32_t>(105));
    EXPECT_EQ(rows_of<std::int64_t>(records, "small"), counted<std::int64_t>(700, 10));
    EXPECT_EQ(rows_of<std::uint8_t>(records, "grown"), counted<std::uint8_t>(28));
    EXPECT_EQ(rows_of<std::uint8_t>(records, "label"), counted<std::uint8_t>(7));
    EXPECT_EQ(rows_of<float>(records, "mixed"), counted<float>(14));
  }
  EXPECT_EQ(hdf5_row_of(path, "gzip"), (array_row{element_type::f64, {5, 3}}));
  std::filesystem::remove_all(folder);
}

TEST(hdf5_chunks, with_lzf_and_fletcher32_are_read) {
  std::vector<std::string> const arrays{"lzf",      "lzf_runs",     "lzf_random", "random",
                                        "fletcher", "fletcher_odd", "all"};
  std::string const folder = fresh_path("hdf5-filters");
  for (char const* const run : {"indexed", "from the cached index"}) {
    SCOPED_TRACE(run);
    record_set const records({path}, hdf5_rows(arrays, gzip::inflate), {.cache = folder});
    EXPECT_EQ(rows_of<double>(records, "lzf"), counted<double>(105));
    std::vector<std::int32_t> runs;
    for (int row = 0; row < 7; ++row) runs.insert(runs.end(), 500, row);
    EXPECT_EQ(rows_of<std::int32_t>(records, "lzf_runs"), runs);
    EXPECT_EQ(rows_of<std::uint8_t>(records, "lzf_random"), rows_of<std::uint8_t>(records, "random"));
    EXPECT_EQ(rows_of<float>(records, "fletcher"), counted<float>(105));
    EXPECT_EQ(rows_of<std::uint8_t>(records, "fletcher_odd"), counted<std::uint8_t>(7));
    EXPECT_EQ(rows_of<std::int64_t>(records, "all"), counted<std::int64_t>(105));
  }
  EXPECT_EQ(record_set({path}, hdf5_rows({"lzf"}), {.cache = ""}).size(), 7);  // needs no zlib
  std::filesystem::remove_all(folder);
}

TEST(hdf5_chunks, that_were_never_written_are_the_fill_value) {
  record_set const records({path}, hdf5_rows({"part", "filled", "unwritten"}, gzip::inflate), {.cache = ""});
  std::vector<float> part(14, 0);
  part[0] = part[2] = 1;
  EXPECT_EQ(rows_of<float>(records, "part"), part);
  std::vector<std::int64_t> filled(21, -5);
  std::fill_n(filled.begin() + 12, 6, 9);
  EXPECT_EQ(rows_of<std::int64_t>(records, "filled"), filled);
  EXPECT_EQ(rows_of<double>(records, "unwritten"), std::vector<double>(14, 0.25));
}

TEST(hdf5_chunks, are_read_together_with_contiguous_arrays_and_without_zlib) {
  std::string const both = COHORT_SOURCE_DIR "/tests/golden/hdf5_rows.h5";
  EXPECT_EQ(record_set({both}, hdf5_rows({"bytes", "train/label"}), {.cache = ""}).size(), 3);
  record_set const records({path, path}, hdf5_rows({"shuffled", "plain"}), {.cache = ""});
  EXPECT_EQ(rows_of<float>(records, "plain").at(105 + 16), 16);
}

TEST(hdf5_chunks, are_refused_with_the_reason) {
  auto const says = [](std::string array) {
    return refused<data_error>([&] { record_set({path}, hdf5_rows({std::move(array)}), {.cache = ""}); });
  };
  expect_parts(says("label"), {"the file is compressed", path.c_str(), "gzip::inflate"});
  expect_parts(says("scaled"), {"a filter that is not read", "scaleoffset",
                                "expected shuffle, deflate (gzip) or lzf, fletcher32", "compression='gzip'"});
  expect_parts(says("undefined"),
               {"chunks of the array were never written", "undefined",
                "expected 4 chunks, or a fill value, got 0 written chunks; write all rows"});
  auto const too_many = [] {
    detail::hdf5_file const file(path, path);
    detail::hdf5_array array = file.array("plain");
    array.extents[0] = 7'000'000'000;
    file.chunks("plain", array);
  };
  expect_parts(refused<data_error>(too_many),
               {"the array has more chunks than the file can contain", "plain", "expected at most ",
                " chunks, got more; write all rows, or shorten the array"});
  auto const weights = [] { detail::hdf5_file(path, path).read("plain", {7, 5, 3}); };
  expect_parts(refused<data_error>(weights), {"chunked or compressed", "plain", "as Keras writes it"});
}

TEST(hdf5_chunks, of_damaged_files_are_refused_or_read_within_the_file) {
  std::vector<std::string> const arrays{"plain", "gzip",     "small",        "grown", "lzf",
                                        "all",   "lzf_runs", "fletcher_odd", "filled"};
  EXPECT_GT(refusals_of_damaged_rows(path, arrays, 1000, 20, gzip::inflate), 100);
}

/// Changes each byte of the stored chunks of an array in turn. Returns the number of changes that the reader
/// does not notice.
int unnoticed_changes(char const* array) {
  std::string const whole = io::read_text(path), damaged = fresh_path("damaged-chunk.h5");
  detail::hdf5_file const file(path, path);
  int changed = 0, refusals = 0;
  for (detail::hdf5_chunk const& chunk : file.chunks(array, file.array(array)))
    for (std::uint64_t byte = chunk.first; byte < chunk.first + chunk.bytes; ++byte, ++changed) {
      std::string text = whole;
      text[byte] = static_cast<char>(text[byte] ^ 0x10);
      io::write_file(damaged, text);
      record_set const records({damaged}, hdf5_rows({array}, gzip::inflate), {.cache = ""});
      try {
        (void)rows_of<std::byte>(records, array);
      } catch (data_error const& refusal) {
        expect_parts(refusal.what(), {"damaged-chunk.h5, record"});
        ++refusals;
      }
    }
  EXPECT_GT(changed, 20);
  return changed - refusals;
}

TEST(hdf5_chunks, with_checksums_refuse_each_damaged_byte) {
  EXPECT_EQ(unnoticed_changes("fletcher"), 0);
  EXPECT_EQ(unnoticed_changes("fletcher_odd"), 0);
  EXPECT_EQ(unnoticed_changes("lzf_random"), 0);
  EXPECT_EQ(unnoticed_changes("all"), 0);
}

TEST(hdf5_chunks, fletcher32_is_that_of_hdf5) {
  auto const sum = [](std::vector<unsigned char> const& bytes) {
    return detail::fletcher32(std::as_bytes(std::span(bytes)));
  };
  EXPECT_EQ(sum({}), 0U);
  EXPECT_EQ(sum({1, 2}), 0x01020102U);
  EXPECT_EQ(sum({1, 2, 3}), 0x05040402U);  // 0x0102, 0x0102 + 0x0300; their sum
  EXPECT_EQ(sum({255, 255}), 0xffffffffU);
  std::vector<unsigned char> const many(2000, 255);
  EXPECT_EQ(sum(many), 0xffffffffU);
}

TEST(hdf5_chunks, of_sizes_that_no_compression_produces_are_refused_without_their_memory) {
  using compression = packed_block::compression;
  io::inflater const never = [](auto, auto, auto, auto const&) -> std::uint64_t {
    ADD_FAILURE() << "decompressed";
    return 0;
  };
  for (auto const packing : {compression::stream, compression::deflate, compression::lzf})
    expect_parts(refused<data_error>([&] {
                   detail::unpack({.bytes = std::uint64_t{1} << 60, .packing = packing},
                                  std::vector<std::byte>(100), never, [] { return std::string("x.h5"); });
                 }),
                 {"it cannot have the size that the index says (x.h5)", "at most 1032 bytes from each of 100",
                  "got 1152921504606846976 bytes; write the file again"});
}

TEST(hdf5_chunks, lzf_expands_literals_and_repetitions_within_bounds) {
  auto const expanded = [](std::string const& packed, std::size_t room) -> std::string {
    std::string to(room, '?');
    auto const size =
        detail::expand_lzf(std::as_bytes(std::span(packed)), std::as_writable_bytes(std::span(to)));
    return size ? to.substr(0, *size) : "refused";
  };
  EXPECT_EQ(expanded("", 4), "");
  EXPECT_EQ(expanded({"\2abc", 4}, 3), "abc");
  EXPECT_EQ(expanded({"\0a\x20\0", 4}, 4), "aaaa");                // 1 + 2 of the byte before, which overlaps
  EXPECT_EQ(expanded({"\1ab\xe0\3\1", 6}, 14), "ababababababab");  // 7 + 3 + 2 bytes
  EXPECT_EQ(expanded({"\2ab", 3}, 9), "refused");                  // the literals are truncated
  EXPECT_EQ(expanded({"\2abc", 4}, 2), "refused");                 // no room
  EXPECT_EQ(expanded({"\0a\x20", 3}, 9), "refused");               // no distance
  EXPECT_EQ(expanded({"\0a\xe0\1", 4}, 99), "refused");
  EXPECT_EQ(expanded({"\0a\x20\1", 4}, 9), "refused");  // before the beginning
  EXPECT_EQ(expanded({"\0a\x20\0", 4}, 3), "refused");
}

}  // namespace hdf5_chunks_test
