// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/io/folder.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include "../checkpoint/scratch_folder.hpp"

namespace cached_file_test {

using cohort::detail::cached_file;

class cached_file_in_a_folder : public testing::Test {
 protected:
  cached_file file_of(std::string const& description) const {
    return {folder, "cohort trials 1", ".trial", description};
  }
  static std::string bytes_of(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(std::string const& path, std::string const& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  scratch_folder scratch;
  std::string folder = scratch / "cache/trials";
};

TEST_F(cached_file_in_a_folder, returns_the_last_written_content) {
  EXPECT_EQ(file_of("a").read(), "");
  std::string const content("two\nlines and a \0", 17);
  file_of("a").write(content);
  EXPECT_EQ(file_of("a").read(), content);
  file_of("a").write("other");
  EXPECT_EQ(file_of("a").read(), "other");
  EXPECT_EQ(file_of("b").read(), "");
  EXPECT_TRUE(file_of("a").path().ends_with(".trial"));
  EXPECT_EQ(cohort::io::list_folder(folder)->size(), 1U) << "nothing temporary stays";
}

TEST_F(cached_file_in_a_folder, ignores_a_damaged_file) {
  file_of("description").write("content");
  std::string const path = file_of("description").path(), whole = bytes_of(path);
  std::string const damaged[]{"",
                              "no line",
                              "\n",
                              whole.substr(0, whole.size() - 1),
                              whole + 'x',
                              whole.substr(0, whole.size() - 1) + '!',
                              'C' + whole.substr(1)};
  for (std::string const& bytes : damaged) {
    put(path, bytes);
    EXPECT_EQ(file_of("description").read(), "") << bytes;
    file_of("description").write("content");
    EXPECT_EQ(bytes_of(path), whole);
  }
}

TEST_F(cached_file_in_a_folder, ignores_a_file_of_another_key) {
  file_of("one").write("content");
  put(file_of("two").path(), bytes_of(file_of("one").path()));
  EXPECT_EQ(file_of("two").read(), "");
}

TEST_F(cached_file_in_a_folder, limits_the_size_of_files_that_it_writes_and_reads) {
  auto const limited = [&](std::uint64_t bytes) {
    return cached_file(folder, "cohort trials 1", ".trial", "key", bytes);
  };
  limited(1000).write("content");
  std::size_t const size = bytes_of(limited(1000).path()).size();
  EXPECT_EQ(limited(size).read(), "content");
  EXPECT_EQ(limited(size - 1).read(), "");
  limited(size - 1).write("CONTENT");
  EXPECT_EQ(limited(size).read(), "content") << "not written";
  limited(size).write("CONTENT");
  EXPECT_EQ(limited(size).read(), "CONTENT");
}

TEST_F(cached_file_in_a_folder, ignores_writes_without_a_usable_folder) {
  for (char const* nowhere : {"", "/proc/no/such/folder"}) {
    folder = nowhere;
    file_of("a").write("content");
    EXPECT_EQ(file_of("a").read(), "");
  }
}

}  // namespace cached_file_test
