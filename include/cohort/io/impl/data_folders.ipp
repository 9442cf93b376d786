// SPDX-License-Identifier: Apache-2.0
#include <cohort/io/data_folders.hpp>
#include <cstdlib>
#include <utility>

namespace cohort::detail {

std::string environment_variable(char const* name) {
  char const* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace cohort::detail

namespace cohort::io {

std::string cache_folder(std::string const& subfolder) {
  std::string cache = detail::environment_variable("XDG_CACHE_HOME");
  if (cache.empty()) {
    cache = detail::environment_variable("HOME");
    if (cache.empty()) return {};
    cache += "/.cache";
  }
  return cache + "/cohort" + (subfolder.empty() ? "" : '/' + subfolder);
}

std::vector<std::string> data_folders(std::string const& cache_subfolder) {
  std::vector<std::string> folders;
  if (std::string data = detail::environment_variable("COHORT_DATA"); !data.empty())
    folders.push_back(std::move(data));
  folders.push_back("data");
  if (std::string cache = cache_folder(cache_subfolder); !cache.empty()) folders.push_back(std::move(cache));
  return folders;
}

}  // namespace cohort::io
