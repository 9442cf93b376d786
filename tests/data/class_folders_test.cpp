// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/class_folders.hpp>
#include <cohort/error/exceptions.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../checkpoint/scratch_folder.hpp"
#include "refused.hpp"

namespace class_folders_test {

using cohort::class_folders;
using strings = std::vector<std::string>;

void put(std::string const& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << 'x';
}

class_folders list(scratch_folder const& folder, strings const& labels = {}) {
  return class_folders::list(
      folder.path(), labels,
      [](std::string const& name, std::string const&) { return !name.ends_with(".txt"); }, "CLASS/NAME.dat");
}

TEST(class_folders, are_sorted_by_class_then_by_name) {
  scratch_folder const folder;
  for (char const* path :
       {"/cat/2.dat", "/cat/10.dat", "/ant/b.dat", "/cat/.hidden", "/cat/notes.txt", "/.git/x", "/x.dat"})
    put(folder.path() + path);
  std::filesystem::create_directory(folder / "empty");
  class_folders const found = list(folder);
  EXPECT_EQ(found.labels, (strings{"ant", "cat"}));
  EXPECT_EQ(found.paths, (strings{"ant/b.dat", "cat/10.dat", "cat/2.dat"}));
  EXPECT_EQ(found.classes, (std::vector<std::int32_t>{0, 1, 1}));
  class_folders const ordered = list(folder, {"cat", "empty", "ant"});
  EXPECT_EQ(ordered.paths, (strings{"cat/10.dat", "cat/2.dat", "ant/b.dat"}));
  EXPECT_EQ(ordered.classes, (std::vector<std::int32_t>{0, 0, 2}));
}

TEST(class_folders, refuse_missing_and_unknown_classes) {
  scratch_folder const folder;
  expect_parts(refused<cohort::data_error>([&] { list(folder); }), {"no class folders", "CLASS/NAME.dat"});
  put(folder / "cat/notes.txt");
  expect_parts(refused<cohort::data_error>([&] { list(folder); }), {"no examples", folder.path().c_str()});
  put(folder / "cat/1.dat");
  expect_parts(refused<cohort::data_error>([&] {
                 list(folder, {"cat", "cow"});
               }),
               {"a class has no folder", "a folder cow"});
  expect_parts(refused<cohort::setting_error>([&] {
                 list(folder, {"cat", "cat"});
               }),
               {"duplicate label", "got cat"});
  put(folder / "dog/1.dat");
  expect_parts(refused<cohort::data_error>([&] { list(folder, {"cat"}); }),
               {"not among the labels", "got dog"});
}

}  // namespace class_folders_test
