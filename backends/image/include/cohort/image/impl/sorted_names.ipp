// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cohort/image/detail/sorted_names.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>
#include <optional>
#include <utility>

namespace cohort::detail {

std::vector<std::string> sorted_names_in(std::string const& folder) {
  std::optional<std::vector<std::string>> names = io::list_folder(folder);
  if (!names) refuse_file("cannot read the folder", folder, ENOENT);
  std::erase_if(*names, [](std::string const& name) { return name.starts_with('.'); });
  std::sort(names->begin(), names->end());
  return std::move(*names);
}

bool is_folder_or_link(std::string const& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace cohort::detail
