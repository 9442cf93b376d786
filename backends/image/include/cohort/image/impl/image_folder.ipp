// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/sorted_names.hpp>
#include <cohort/image/image_folder.hpp>
#include <cohort/io/file.hpp>
#include <utility>

namespace cohort {

image_folder::image_folder(std::string folder, image_settings settings)
    : folder_(std::move(folder)), reader_(settings, classes_of(folder_, settings.labels)) {
  what_ = reader_.describe();
  std::vector<std::string> const& labels = reader_.labels();
  for (std::size_t label = 0; label < labels.size(); ++label)
    for (std::string const& name : detail::sorted_names_in(folder_ + '/' + labels[label])) {
      std::string path = labels[label] + '/' + name;
      if (!detail::is_image_file(name, full_path(path))) continue;
      paths_.push_back(std::move(path));
      labels_.push_back(static_cast<std::int32_t>(label));
    }
  if (paths_.empty())
    throw data_error({.what = "the class folders have no images",
                      .where = folder_,
                      .expected = "CLASS/NAME.jpg or .png",
                      .got = "none"});
  if (reader_.needs_size()) {
    reader_.use_size_of(bytes_of_file(0), full_path(paths_[0]));
    what_ = reader_.describe();
  }
}

void image_folder::get(std::int64_t i, example_view& out) const {
  auto const at = static_cast<std::size_t>(i);
  reader_.write(bytes_of_file(at), full_path(paths_[at]), paths_[at], labels_[at], out);
}

std::vector<std::string> image_folder::classes_of(std::string const& folder,
                                                  std::vector<std::string> labels) {
  std::vector<std::string> found = detail::sorted_names_in(folder);
  // An empty folder is no class, unless the labels name it.
  std::erase_if(found, [&](std::string const& name) {
    std::string const path = folder + '/' + name;
    return !detail::is_folder_or_link(path)
           || (std::find(labels.begin(), labels.end(), name) == labels.end()
               && detail::sorted_names_in(path).empty());
  });
  if (found.empty())
    throw data_error({.what = "the folder has no class folders",
                      .where = folder,
                      .expected = "CLASS/NAME.jpg or .png",
                      .got = "none"});
  if (labels.empty()) return found;
  detail::require_unique(labels);
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

std::vector<std::byte> image_folder::bytes_of_file(std::size_t i) const {
  return io::read_file(full_path(paths_[i]), reader_.max_file_bytes());
}

}  // namespace cohort
