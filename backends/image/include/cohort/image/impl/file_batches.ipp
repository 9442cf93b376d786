// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/class_folders.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/file_batches.hpp>
#include <cohort/io/folder.hpp>

namespace cohort {

file_batches::file_batches(std::vector<std::string> const& archives, image_settings settings)
    : reader_(settings, list_files(archives, settings.labels)) {
  what_ = reader_.describe();
  if (reader_.needs_size()) {
    reader_.use_size_of(bytes_of_file(0), where(0));
    what_ = reader_.describe();
  }
}

void file_batches::get(std::int64_t i, example_view& out) const {
  auto const at = static_cast<std::size_t>(i);
  reader_.write(bytes_of_file(at), where(at), paths_[at], places_[at].label, out);
}

std::vector<std::string> file_batches::archives_at(std::string const& folder) {
  if (io::size_of_file(folder)) return {folder};
  std::vector<std::string> names = detail::sorted_names_in(folder);
  std::erase_if(names, [](std::string const& name) { return !name.ends_with(".zip"); });
  if (names.empty())
    throw data_error(
        {.what = "the folder has no archives", .where = folder, .expected = "NAME.zip", .got = "none"});
  for (std::string& name : names) name = folder + '/' + name;
  return names;
}

std::string_view file_batches::parent_of(std::string_view path) {
  std::size_t const end = path.rfind('/');
  if (end == std::string_view::npos) return {};
  std::string_view const above = path.substr(0, end);
  return above.substr(above.rfind('/') + 1);  // npos + 1 is 0
}

std::vector<std::string> file_batches::list_files(std::vector<std::string> const& archives,
                                                  std::vector<std::string> labels) {
  for (std::string const& path : archives) {
    archives_.push_back(std::make_unique<detail::zip_file>(path));
    std::uint64_t number = 0;
    for (auto const& entry : archives_.back()->entries()) {
      place const at{.archive = static_cast<std::uint32_t>(archives_.size() - 1), .entry = number++};
      if (entry.name.ends_with('/')) continue;
      std::string_view const name = std::string_view(entry.name).substr(entry.name.rfind('/') + 1);
      if (!detail::is_image_file(name, location(path, entry.name))) continue;
      if (parent_of(entry.name).empty())
        throw data_error({.what = "the file is not in a class folder",
                          .where = path,
                          .expected = "CLASS/NAME",
                          .got = entry.name});
      places_.push_back(at);
      paths_.push_back(entry.name);
    }
  }
  if (paths_.empty())
    throw data_error({.what = "the archives have no images",
                      .where = archives.empty() ? "" : archives[0],
                      .expected = "CLASS/NAME.jpg or .png",
                      .got = "none"});
  assign_labels(labels);
  return labels;
}

void file_batches::assign_labels(std::vector<std::string>& labels) {
  std::vector<std::string_view> found;
  for (std::string const& path : paths_) found.push_back(parent_of(path));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (labels.empty()) labels.assign(found.begin(), found.end());
  detail::require_unique(labels);
  std::vector<std::int32_t> numbers(found.size(), -1);
  for (std::size_t label = 0; label < labels.size(); ++label) {
    auto const at = std::lower_bound(found.begin(), found.end(), labels[label]);
    if (at == found.end() || *at != labels[label])
      throw data_error({.what = "a class has no files in the archives",
                        .where = archives_[0]->path(),
                        .expected = {"a file in a folder ", labels[label]},
                        .got = "none"});
    numbers[static_cast<std::size_t>(at - found.begin())] = static_cast<std::int32_t>(label);
  }
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    auto const at = std::lower_bound(found.begin(), found.end(), parent_of(paths_[i])) - found.begin();
    places_[i].label = numbers[static_cast<std::size_t>(at)];
    if (places_[i].label < 0)
      throw data_error({.what = "a class is not among the labels",
                        .where = where(i),
                        .expected = {"one of the ", labels.size(), " classes in settings.labels"},
                        .got = {parent_of(paths_[i])}});
  }
}

std::string file_batches::where(std::size_t i) const { return location(archive(i).path(), paths_[i]); }

std::vector<std::byte> file_batches::bytes_of_file(std::size_t i) const {
  return archive(i).read(places_[i].entry, reader_.max_file_bytes());
}

}  // namespace cohort
