// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cohort/io/detail/folder.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What is in a folder, sorted by the bytes of its names, so that no file system's order is seen; without hidden names.
inline std::vector<std::string> sorted_names_in(std::string const& folder) {
  std::optional<std::vector<std::string>> names = names_in(folder);
  if (!names) refuse_file("cannot read the folder", folder, ENOENT);
  std::erase_if(*names, [](std::string const& name) { return name.starts_with('.'); });
  std::sort(names->begin(), names->end());
  return std::move(*names);
}

/// Whether the path leads to a folder, perhaps by a link.
inline bool leads_to_folder(std::string const& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace cohort::detail
