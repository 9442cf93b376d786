// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/folder.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "../checkpoint/scratch_folder.hpp"

namespace folder_test {

using namespace cohort;

TEST(folder, is_created_with_its_parents_then_listed_renamed_and_removed) {
  scratch_folder const scratch;
  std::string const folder = scratch / "a/b";
  EXPECT_EQ(io::list_folder(folder), std::nullopt);
  io::make_folder(folder);
  io::make_folder(folder);
  EXPECT_TRUE(io::is_folder(folder));
  io::write_file(folder + "/one", "content");
  io::write_file(folder + "/two", "");
  auto names = io::list_folder(folder).value();
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(io::size_of_file(folder + "/one"), 7U);
  EXPECT_EQ(io::size_of_file(folder), std::nullopt);
  io::rename_folder(folder, scratch / "c");
  EXPECT_FALSE(io::is_folder(folder));
  io::remove_empty_folder(scratch / "c");
  EXPECT_TRUE(io::is_folder(scratch / "c")) << "it is not empty";
  io::remove_file(scratch / "c/one");
  io::remove_file(scratch / "c/two");
  io::remove_file(scratch / "c/two");
  io::synchronise_folder(scratch / "c");
  io::remove_empty_folder(scratch / "c");
  EXPECT_FALSE(io::is_folder(scratch / "c"));
}

TEST(folder, reports_a_link_without_a_target) {
  scratch_folder const scratch;
  std::filesystem::create_symlink(scratch / "none", scratch / "link");
  EXPECT_FALSE(io::is_folder(scratch / "link"));
  EXPECT_THROW(io::list_folder(scratch / "link"), file_error);
}

}  // namespace folder_test
