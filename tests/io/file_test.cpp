// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>

#include "../data/refused.hpp"

namespace file_test {

TEST(read_file, returns_the_bytes_of_a_file) {
  std::string const path = fresh_path("bytes");
  std::vector<std::byte> const bytes = {std::byte{1}, std::byte{0}, std::byte{255}};
  write_file(path, bytes);
  EXPECT_EQ(cohort::io::read_file(path), bytes);
  EXPECT_EQ(cohort::io::read_file(path, 3).size(), 3u);
  expect_parts(refused<cohort::file_error>([&] { cohort::io::read_file(path, 2); }),
               {path.c_str(), "at most 2", "got 3"});
}

TEST(read_file, reports_a_path_that_is_missing_or_a_directory) {
  std::string const path = fresh_path("nowhere") + "/file";
  expect_parts(refused<cohort::file_error>([&] { cohort::io::read_file(path); }),
               {path.c_str(), "No such file"});
  expect_parts(refused<cohort::file_error>([] { cohort::io::read_file("/"); }),
               {"regular file", "a directory"});
}

}  // namespace file_test
