// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/records/npy_rows.hpp>
#include <cohort/records/record_set.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../data/refused.hpp"

namespace npy_rows_test {

using namespace cohort;

std::string saved(std::vector<float> const& values, shape const& dims) {
  std::string const path = fresh_path("array.npy");
  save_npy(path, {reinterpret_cast<std::byte const*>(values.data()), element_type::f32, dims});
  return path;
}
void replace(std::string const& path, std::string const& from, std::string const& to) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bytes.replace(bytes.find(from), from.size(), to);
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(npy_rows, are_read_as_records) {
  std::string const path = saved({1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_EQ(npy_row_of(path), (array_row{element_type::f32, {2}}));
  record_set const records({path, path}, npy_rows(), {.cache = ""});
  ASSERT_EQ(records.size(), 6);
  std::vector<std::byte> memory;
  float row[2];
  auto const bytes = records.read(4, records.field("row"), memory);
  ASSERT_EQ(bytes.size(), sizeof row);
  std::memcpy(row, bytes.data(), sizeof row);
  EXPECT_EQ(row[0], 3);
  EXPECT_EQ(row[1], 4);
}

TEST(npy_rows, accept_scalars_and_empty_arrays) {
  std::string const path = saved({1, 2, 3}, {3});
  EXPECT_EQ(npy_row_of(path).extents.elements(), 1);
  EXPECT_EQ(record_set({path}, npy_rows(), {.cache = ""}).size(), 3);
  EXPECT_EQ(record_set({saved({}, {0, 2})}, npy_rows(), {.cache = ""}).size(), 0);
}

TEST(npy_rows, refuse_scalars_empty_rows_and_non_contiguous_arrays) {
  auto const says = [](std::string const& path) {
    return refused<data_error>([&] { record_set({path}, npy_rows(), {.cache = ""}); });
  };
  expect_parts(says(saved({1}, {})), {"has no rows", "array.npy"});
  expect_parts(says(saved({}, {5, 0})), {"the rows of the array are empty", "got 5x0"});
  std::string path = saved({1, 2, 3, 4}, {2, 2});
  replace(path, "False", "True ");
  expect_parts(says(path), {"are not contiguous", "numpy.ascontiguousarray", "Fortran order"});
  path = saved({1, 2, 3, 4}, {2, 2});
  replace(path, "(2, 2)", "(3, 2)");
  expect_parts(says(path), {"cannot read the .npy file", "array.npy, byte"});
}

}  // namespace npy_rows_test
