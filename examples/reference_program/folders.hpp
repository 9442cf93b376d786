// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/data_folders.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reference_program {

/// Where a data set may lie: in the folder that the user names and nowhere else; or else in $COHORT_DATA, data/ and the cache.
/// In each of them it may have a folder of its own, `name`.
inline std::vector<std::string> folders_of(std::string_view name, std::string const& chosen) {
  std::vector<std::string> parents{chosen};
  if (chosen.empty()) parents = cohort::data_folders();
  std::vector<std::string> all;
  for (std::string const& parent : parents) {
    all.push_back(parent);
    all.push_back(parent + '/' + std::string(name));
  }
  return all;
}

inline bool is_folder(std::string const& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown);
}
inline bool is_file(std::string const& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown);
}

}  // namespace reference_program
