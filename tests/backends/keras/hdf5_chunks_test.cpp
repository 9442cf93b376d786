// SPDX-License-Identifier: Apache-2.0
// needs: keras zlib
// Arrays of HDF5 files in chunks, compressed and growing.
#include <gtest/gtest.h>
#include <cohort/hdf5_rows.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/zlib.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "../../data/refused.hpp"

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
  expect_parts(says("lzf"), {"a filter that is not read", "lzf", "deflate (gzip)", "compression='gzip'"});
  expect_parts(says("fletcher"), {"a filter that is not read", "fletcher32"});
  expect_parts(says("part"), {"chunks of the array were never written", "part", "expected 4 chunks, got 1"});
  auto const weights = [] { detail::hdf5_file(path, path).read("plain", {7, 5, 3}); };
  expect_parts(refused<data_error>(weights), {"chunked or compressed", "plain", "as Keras writes it"});
}

TEST(hdf5_chunks, of_damaged_files_are_refused_or_read_within_the_file) {
  std::string const whole = io::read_text(path), damaged = fresh_path("damaged-chunks.h5");
  std::mt19937 random(3);
  int refusals = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = whole;
    for (int changes = 1 + round % 20; changes > 0; --changes)
      text[random() % text.size()] = static_cast<char>(random());
    if (round % 10 == 0) text.resize(random() % text.size());
    io::write_file(damaged, text);
    try {
      record_set const records({damaged}, hdf5_rows({"plain", "gzip", "small", "grown"}, gzip::inflate),
                               {.cache = ""});
      for (char const* const field : {"plain", "gzip", "small", "grown"})
        (void)rows_of<std::byte>(records, field);
    } catch (data_error const&) {
      ++refusals;
    }
  }
  EXPECT_GT(refusals, 100);
  std::filesystem::remove(damaged);
}

}  // namespace hdf5_chunks_test
