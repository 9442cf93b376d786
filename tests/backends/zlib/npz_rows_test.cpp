// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/npz.hpp>
#include <cohort/records/npy_rows.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/zlib.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../data/refused.hpp"

namespace npz_rows_test {

using namespace cohort;

/// Writes images of 2 elements that count from `first`, and labels.
std::string saved(std::string const& name, int rows, int labels, npz_compression how, float first = 0) {
  std::vector<float> images;
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 2 * rows; ++i) images.push_back(first + static_cast<float>(i));
  for (int i = 0; i < labels; ++i) classes.push_back(100 + i);
  std::string const path = fresh_path(name);
  save_npz(path,
           std::vector<stored_tensor>{{"image", tensor_view(images.data(), {rows, 2})},
                                      {"label", tensor_view(classes.data(), {labels})}},
           how);
  return path;
}

class npz_rows_of : public testing::TestWithParam<npz_compression> {};

TEST_P(npz_rows_of, arrays_are_records_with_several_arrays_as_fields) {
  std::string const first = saved("first.npz", 3, 3, GetParam()),
                    second = saved("second.npz", 2, 2, npz_compression::none, 50),
                    cache = fresh_path("arrays");
  EXPECT_EQ(npz_row_of(first, "image", gzip::inflate), (array_row{element_type::f32, {2}}));
  EXPECT_EQ(npz_row_of(first, "label", gzip::inflate), (array_row{element_type::i64, {}}));
  record_set const indexed({first, second}, npz_rows({"label", "image"}, gzip::inflate), {.cache = cache});
  record_set const records({first, second}, npz_rows({"label", "image"}, gzip::inflate), {.cache = cache});
  ASSERT_EQ(records.size(), 5);
  std::vector<std::byte> memory;
  auto const read = [&]<class T>(std::int64_t record, char const* field, T* to, std::size_t count) {
    auto const bytes = records.read(record, records.field(field), memory);
    ASSERT_EQ(bytes.size(), count * sizeof(T));
    std::memcpy(to, bytes.data(), bytes.size());
  };
  float image[2];
  std::int64_t label;
  read(2, "image", image, 2);
  EXPECT_EQ(image[0], 4);
  EXPECT_EQ(image[1], 5);
  read(4, "image", image, 2);
  EXPECT_EQ(image[1], 53);
  read(2, "label", &label, 1);
  EXPECT_EQ(label, 102);
  read(4, "label", &label, 1);
  EXPECT_EQ(label, 101);
  read(0, "label", &label, 1);
  EXPECT_EQ(label, 100);
}
INSTANTIATE_TEST_SUITE_P(all, npz_rows_of, testing::Values(npz_compression::none, npz_compression::deflate));

/// A file that numpy.savez_compressed wrote (golden/npz_rows.py): arrays with 7 rows, and arrays of other
/// types and numbers of rows.
std::string const numpy_file = COHORT_SOURCE_DIR "/tests/golden/npz_rows.npz";

TEST(npz_rows, of_numpy_savez_compressed_are_read_beside_arrays_of_other_types) {
  record_set const records({numpy_file}, npz_rows({"image", "label"}, gzip::inflate), {.cache = ""});
  ASSERT_EQ(records.size(), 7);
  std::vector<std::byte> memory;
  for (int row = 6; row >= 0; --row) {
    auto const bytes = records.read(row, records.field("image"), memory);
    ASSERT_EQ(bytes.size(), 64U);
    for (std::size_t k = 0; k < 64; ++k) EXPECT_EQ(std::to_integer<int>(bytes[k]), (row * 64 + int(k)) % 251);
    std::int32_t label = 0;
    std::memcpy(&label, records.read(row, records.field("label"), memory).data(), sizeof label);
    EXPECT_EQ(label, row * row - 3);
  }
  auto const says = [](std::vector<std::string> arrays) {
    return refused<data_error>(
        [&] { record_set({numpy_file}, npz_rows(std::move(arrays), gzip::inflate), {.cache = ""}); });
  };
  expect_parts(says({"names"}),
               {"cannot read the .npy file", "npz_rows.npz, array \"names\", type", "got \"<U3\""});
  expect_parts(says({"objects"}), {"array \"objects\"", "would be unpickled"});
  npz_file const whole = npz_file::load(numpy_file);  // lists arrays of other types without data
  EXPECT_EQ(whole.tensors().size(), 4U);
}

TEST(npz_rows, of_compressed_arrays_fit_into_the_cache_of_blocks) {
  std::string const path = saved("large.npz", 3000, 3000, npz_compression::deflate);
  auto const open = [&](std::uint64_t bytes) {
    return record_set({path}, npz_rows({}, gzip::inflate), {.cache = "", .max_block_bytes = bytes});
  };
  EXPECT_EQ(open(3000 * 16 + 256).size(), 3000);
  expect_parts(refused<data_error>([&] { open(3000 * 16 + 255); }),
               {"the compressed arrays of a file do not fit", path.c_str(), "at most 48255 bytes",
                "record_settings::max_block_bytes", "numpy.savez", "got 48256 bytes"});
}

/// gzip::inflate with counters.
struct counted_inflation {
  int calls = 0;
  std::size_t most_stored = 0;

  io::inflater inflater() {
    return [this](std::span<std::byte const> packed, std::span<std::byte> to, std::uint64_t max_bytes,
                  std::function<std::string()> const& where) {
      ++calls;
      most_stored = std::max(most_stored, to.size());
      return gzip::inflate(packed, to, max_bytes, where);
    };
  }
};

TEST(npz_rows, of_large_compressed_arrays_are_indexed_and_refused_without_their_memory) {
  std::string const path = saved("larger.npz", 20'000, 20'000, npz_compression::deflate);
  constexpr std::size_t header = 12 + 65'536;  // the longest one
  counted_inflation counted;
  EXPECT_EQ(npz_row_of(path, "image", counted.inflater()), (array_row{element_type::f32, {2}}));
  expect_parts(refused<data_error>([&] {
                 record_set({path}, npz_rows({}, counted.inflater()),
                            {.cache = "", .max_block_bytes = 300'000});
               }),
               {"the compressed arrays of a file do not fit", "at most 300000 bytes", "got 320256 bytes"});
  EXPECT_EQ(counted.calls, 3);
  EXPECT_EQ(counted.most_stored, header);
  // The whole array is verified nevertheless.
  std::string text = io::read_text(path);
  std::size_t const middle = text.size() / 4;
  text[middle] = static_cast<char>(text[middle] ^ 0x55);
  io::write_file(path, text);
  expect_parts(refused<data_error>([&] { record_set({path}, npz_rows({}, gzip::inflate), {.cache = ""}); }),
               {"larger.npz, array "});
}

TEST(npz_rows, of_several_compressed_files_share_the_cache_of_blocks) {
  std::vector<std::string> paths;
  for (int file = 0; file < 3; ++file)
    paths.push_back(saved("shared-" + std::to_string(file) + ".npz", 3000, 3000, npz_compression::deflate,
                          static_cast<float>(10'000 * file)));
  counted_inflation counted;
  record_set const records(paths, npz_rows({"image", "label"}, counted.inflater()),
                           {.cache = "", .max_block_bytes = 3000 * 16 + 2048});  // the arrays of one file
  ASSERT_EQ(records.size(), 9000);
  std::vector<std::byte> memory;
  auto const expect_row = [&](std::int64_t record) {
    float first = 0;
    std::int64_t label = 0;
    std::memcpy(&first, records.read(record, 0, memory).data(), sizeof first);
    std::memcpy(&label, records.read(record, 1, memory).data(), sizeof label);
    ASSERT_EQ(first, static_cast<float>(10'000 * (record / 3000) + 2 * (record % 3000)));
    ASSERT_EQ(label, 100 + record % 3000);
  };
  counted.calls = 0;
  for (std::int64_t record = 0; record < 9000; ++record) expect_row(record);
  EXPECT_EQ(counted.calls, 6);  // in order, each array once
  for (std::int64_t const record : {0, 3000, 6000, 1}) expect_row(record);
  EXPECT_EQ(counted.calls, 14);  // files in turn, each array again
}

TEST(npz_rows, of_damaged_compressed_arrays_are_refused) {
  std::string const whole = io::read_text(saved("whole.npz", 300, 300, npz_compression::deflate)),
                    path = fresh_path("damaged.npz");
  auto const checksum = [](std::string const& file) {
    record_set const records({file}, npz_rows({}, gzip::inflate), {.cache = ""});
    std::vector<std::byte> memory;
    std::string all;
    for (std::int64_t record = 0; record < records.size(); ++record)
      for (std::size_t field = 0; field < 2; ++field) {
        auto const bytes = records.read(record, field, memory);
        all.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
      }
    return all;
  };
  io::write_file(path, whole);
  std::string const content = checksum(path);
  int refusals = 0;
  for (std::size_t byte = 0; byte < whole.size(); byte += 3) {
    std::string text = whole;
    text[byte] = static_cast<char>(text[byte] ^ 0x55);
    io::write_file(path, text);
    try {
      EXPECT_EQ(checksum(path), content) << byte;  // a byte that no reader needs, such as a time
    } catch (data_error const&) {
      ++refusals;
    }
  }
  EXPECT_GT(refusals, static_cast<int>(whole.size()) / 6);
}

TEST(npz_rows, have_all_arrays_as_fields_if_no_names_are_given) {
  record_set const records({saved("all.npz", 3, 3, npz_compression::none)}, npz_rows(), {.cache = ""});
  EXPECT_EQ(records.fields(), (std::vector<std::string>{"image", "label"}));
  EXPECT_EQ(records.size(), 3);
}

TEST(npz_rows, cache_an_index_for_each_list_of_arrays) {
  std::string const begin(80, 'a'), path = fresh_path("long_names.npz"), cache = fresh_path("cache");
  std::vector<float> const first{1, 2}, second{3, 4};
  save_npz(path, std::vector<stored_tensor>{{begin + "1", tensor_view(first.data(), {2})},
                                            {begin + "2", tensor_view(second.data(), {2})}});
  for (auto const& [name, wanted] : {std::pair(begin + "1", 2.0F), std::pair(begin + "2", 4.0F)}) {
    record_set const records({path}, npz_rows({name}), {.cache = cache});
    std::vector<std::byte> memory;
    float got = 0;
    std::memcpy(&got, records.read(1, records.field(name), memory).data(), sizeof got);
    EXPECT_EQ(got, wanted);
  }
}

TEST(npz_rows, refuse_files_that_are_not_rows_of_arrays) {
  auto const says = [](std::string const& path, std::vector<std::string> arrays) {
    return refused<data_error>([&] { record_set({path}, npz_rows(std::move(arrays)), {.cache = ""}); });
  };
  std::string const path = saved("a.npz", 3, 2, npz_compression::none);
  expect_parts(says(path, {"image", "label"}), {"the arrays have different numbers of rows", "a.npz",
                                                "expected 3 rows of \"label\", as of \"image\", got 2"});
  expect_parts(says(path, {"images"}),
               {"cannot read the .npz file", "a.npz", "an array \"images\"", "no such"});
  expect_parts(
      says(saved("b.npz", 300, 300, npz_compression::deflate), {"image"}),
      {"the entry \"image.npy\" is compressed", "b.npz", "gzip::inflate", "numpy.savez", "got method 8"});
  std::string const cut = fresh_path("cut.npz");
  io::write_file(cut, io::read_text(path).substr(0, 100));
  expect_parts(says(cut, {"image"}), {"cannot read the .npz file", "cut.npz"});
  std::string const empty = fresh_path("empty.npz");
  save_npz(empty, {});
  expect_parts(says(empty, {}), {"empty.npz", "at least one array", "an empty archive"});
  expect_parts(refused<setting_error>([] { npz_rows({"a", "b", "a"}); }), {"each name once", "\"a\" twice"});
}

}  // namespace npz_rows_test
