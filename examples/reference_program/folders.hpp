// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/data_folders.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reference_program {

/// Folders to search for a data set: only `chosen` if it is not empty, otherwise $COHORT_DATA, data/ and the
/// cache. The subfolder `name` of each folder is searched directly after the folder.
inline std::vector<std::string> folders_of(std::string_view name, std::string const& chosen) {
  std::vector<std::string> parents{chosen};
  if (chosen.empty()) parents = cohort::io::data_folders();
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
