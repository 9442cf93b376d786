// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/hdf5_rows.hpp>
#include <cohort/records/record_set.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../../data/refused.hpp"
#include "damaged_hdf5.hpp"

namespace hdf5_rows_test {

using namespace cohort;

/// A file that golden/hdf5_rows.py wrote.
std::string const path = COHORT_SOURCE_DIR "/tests/golden/hdf5_rows.h5";

template <class T>
std::vector<T> row(record_set const& records, std::int64_t record, char const* field) {
  std::vector<std::byte> memory;
  auto const bytes = records.read(record, records.field(field), memory);
  std::vector<T> made(bytes.size() / sizeof(T));
  std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

TEST(hdf5_rows, are_records_with_several_arrays_as_fields) {
  EXPECT_EQ(hdf5_row_of(path, "train/image"), (array_row{element_type::f32, {2, 2}}));
  EXPECT_EQ(hdf5_row_of(path, "train/label"), (array_row{element_type::i64, {}}));
  EXPECT_EQ(hdf5_row_of(path, "bytes"), (array_row{element_type::u8, {1}}));
  record_set const records({path, path}, hdf5_rows({"train/label", "train/image", "bytes"}), {.cache = ""});
  ASSERT_EQ(records.size(), 6);
  EXPECT_EQ(row<std::int64_t>(records, 1, "train/label"), (std::vector<std::int64_t>{-8}));
  EXPECT_EQ(row<float>(records, 5, "train/image"), (std::vector<float>{8, 9, 10, 11}));
  EXPECT_EQ(row<std::uint8_t>(records, 3, "bytes"), (std::vector<std::uint8_t>{1}));
}

TEST(hdf5_rows, of_chunks_that_were_never_written_are_the_fill_value) {
  record_set const records({path}, hdf5_rows({"chunked"}), {.cache = ""});
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(row<float>(records, 2, "chunked"), (std::vector<float>{0, 0}));
}

TEST(hdf5_rows, refuse_arrays_that_are_not_rows) {
  auto const says = [](std::vector<std::string> arrays) {
    return refused<data_error>([&] { record_set({path}, hdf5_rows(std::move(arrays)), {.cache = ""}); });
  };
  expect_parts(says({"bytes", "two"}), {"different numbers of rows", "hdf5_rows.h5",
                                        "expected 3 rows of \"two\", as of \"bytes\", got 2"});
  expect_parts(says({"images"}), {"there is no such array", "images", "name an array of this file"});
  expect_parts(says({"train"}), {"this is not an array", "train", "name an array of this file"});
  expect_parts(says({"half"}), {"elements of another type", "array \"half\"", "f32, f64, i32, i64, u64 or u8",
                                "floating-point numbers of 2 bytes"});
  expect_parts(says({"single"}), {"the array has no rows", "array \"single\"", "a single element"});
  expect_parts(refused<setting_error>([] { hdf5_rows({}); }), {"hdf5_rows", "paths of arrays", "none"});
  expect_parts(refused<setting_error>([] { hdf5_rows({"a", "a"}); }), {"each name once", "\"a\" twice"});
}

TEST(hdf5_rows, of_damaged_files_are_refused_or_read_within_the_file) {
  EXPECT_GT(refusals_of_damaged_rows(path, {"train/image", "train/label"}, 2000, 3), 200);
}

}  // namespace hdf5_rows_test
