// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// Where a data set is looked for when its user names no folder: $COHORT_DATA, data/, and in the cache that the set-up fills,
/// $XDG_CACHE_HOME/cohort or ~/.cache/cohort, the folder `in_cache` ("": the cache itself). What is not set is left out.
inline std::vector<std::string> data_folders(std::string const& in_cache = {}) {
  auto const variable = [](char const* name) -> std::string {
    char const* const value = std::getenv(name);
    return value ? value : "";
  };
  std::string const inside = "/cohort" + (in_cache.empty() ? "" : '/' + in_cache);
  std::vector<std::string> folders;
  if (std::string data = variable("COHORT_DATA"); !data.empty()) folders.push_back(std::move(data));
  folders.push_back("data");
  if (std::string const cache = variable("XDG_CACHE_HOME"); !cache.empty())
    folders.push_back(cache + inside);
  else if (std::string const home = variable("HOME"); !home.empty())
    folders.push_back(home + "/.cache" + inside);
  return folders;
}

}  // namespace cohort
