// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cohort/data/class_folders.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>
#include <optional>
#include <utility>

namespace cohort {

namespace detail {

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

void require_unique(std::vector<std::string> labels) {
  std::sort(labels.begin(), labels.end());
  auto const twice = std::adjacent_find(labels.begin(), labels.end());
  if (twice != labels.end())
    throw setting_error(
        {.what = "duplicate label", .where = "labels", .expected = "each label once", .got = *twice});
}

/// Returns the classes of a folder: `labels`, or the names of its folders if there are none.
std::vector<std::string> classes_in(std::string const& folder, std::vector<std::string> labels,
                                    char const* expected) {
  std::vector<std::string> found = sorted_names_in(folder);
  std::erase_if(found, [&](std::string const& name) {
    std::string const path = folder + '/' + name;
    return !is_folder_or_link(path)
           || (std::find(labels.begin(), labels.end(), name) == labels.end()
               && sorted_names_in(path).empty());
  });
  if (found.empty())
    throw data_error(
        {.what = "the folder has no class folders", .where = folder, .expected = expected, .got = "none"});
  if (labels.empty()) return found;
  require_unique(labels);
  for (std::string const& label : labels)
    if (!std::binary_search(found.begin(), found.end(), label))
      throw data_error({.what = "a class has no folder",
                        .where = folder,
                        .expected = {"a folder ", label},
                        .got = "none"});
  for (std::string const& name : found)
    if (std::find(labels.begin(), labels.end(), name) == labels.end())
      throw data_error({.what = "a folder is not among the labels",
                        .where = folder,
                        .expected = {"the ", labels.size(), " classes in settings.labels"},
                        .got = name});
  return labels;
}

}  // namespace detail

class_folders class_folders::list(std::string const& folder, std::vector<std::string> labels,
                                  std::function<bool(std::string const&, std::string const&)> const& accepts,
                                  char const* expected) {
  class_folders listed{.labels = detail::classes_in(folder, std::move(labels), expected)};
  for (std::size_t label = 0; label < listed.labels.size(); ++label)
    for (std::string const& name : detail::sorted_names_in(folder + '/' + listed.labels[label])) {
      std::string path = listed.labels[label] + '/' + name;
      if (!accepts(name, folder + '/' + path)) continue;
      listed.paths.push_back(std::move(path));
      listed.classes.push_back(static_cast<std::int32_t>(label));
    }
  if (listed.paths.empty())
    throw data_error(
        {.what = "the class folders have no examples", .where = folder, .expected = expected, .got = "none"});
  return listed;
}

}  // namespace cohort
