// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

/// An empty folder for one test, removed with all its contents.
class scratch_folder {
 public:
  scratch_folder() : path_(testing::TempDir() + "cohort_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string const& path() const { return path_; }
  std::string operator/(std::string const& name) const { return path_ + '/' + name; }

  /// Names of its entries, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    DIR* const folder = ::opendir(path_.c_str());
    while (dirent const* entry = ::readdir(folder)) {
      std::string const name = entry->d_name;
      if (name != "." && name != "..") found.push_back(name);
    }
    ::closedir(folder);
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path_;
};
