// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

/// "" where it is not set.
inline std::string environment_variable(char const* name) {
  char const* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace detail

/// The folder `inside` ("": itself) of the cache that the set-up fills: $XDG_CACHE_HOME/cohort or ~/.cache/cohort; "" where
/// neither XDG_CACHE_HOME nor HOME is set.
inline std::string cache_folder(std::string const& inside = {}) {
  std::string cache = detail::environment_variable("XDG_CACHE_HOME");
  if (cache.empty()) {
    cache = detail::environment_variable("HOME");
    if (cache.empty()) return {};
    cache += "/.cache";
  }
  return cache + "/cohort" + (inside.empty() ? "" : '/' + inside);
}

/// Where a data set is looked for when its user names no folder: $COHORT_DATA, data/, and the folder `in_cache` of the cache
/// (cache_folder). What is not set is left out.
inline std::vector<std::string> data_folders(std::string const& in_cache = {}) {
  std::vector<std::string> folders;
  if (std::string data = detail::environment_variable("COHORT_DATA"); !data.empty())
    folders.push_back(std::move(data));
  folders.push_back("data");
  if (std::string cache = cache_folder(in_cache); !cache.empty()) folders.push_back(std::move(cache));
  return folders;
}

}  // namespace cohort
