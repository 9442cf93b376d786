// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/dataset.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/sorted_names.hpp>
#include <cohort/image/detail/zip.hpp>
#include <cohort/image/image_settings.hpp>
#include <cohort/io/detail/folder.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Images in zip archives as pack_files makes them (others' too, compressed or not): an indexed data set that reads and
/// decodes a file when its example is asked for, on the thread that asks.
///
/// Shapes    as image_folder's.
/// Order     examples by archive, as given, then as they stand in it. A label is the name of the folder in which the file
///           was, "train/cat/1.jpg" is a cat; labels count these names sorted, or as settings.labels lists them.
/// Moves     names stay in memory and every archive stays open: `ulimit -n` must allow for as many.
/// Errors    When made: file_error for an archive that cannot be opened; data_error naming archive and file for one that
///           is in no folder, is of a class that settings.labels do not have, or is no image by its name (hidden ones
///           and folders are left out); data_error for a class of settings.labels without a file, or no files at all.
///           When asked for: data_error naming archive and file.
class file_batches {
 public:
  /// The archives of one folder, sorted by name; or one archive.
  explicit file_batches(std::string const& path, image_settings settings = {})
      : file_batches(archives_at(path), std::move(settings)) {}

  explicit file_batches(std::vector<std::string> const& archives, image_settings settings = {})
      : reader_(settings, listed(archives, settings.labels)) {
    what_ = reader_.describe();
    if (reader_.needs_size()) {
      reader_.take_size_of(bytes_of_file(0), where(0));
      what_ = reader_.describe();
    }
  }

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  void get(std::int64_t i, example_view& out) const {
    auto const at = static_cast<std::size_t>(i);
    reader_.write(bytes_of_file(at), where(at), paths_[at], places_[at].label, out);
  }

  /// The examples' files as they were packed, "train/cat/1.jpg", by their numbers.
  std::vector<std::string> const& paths() const { return paths_; }
  /// The archive in which an example is.
  std::string const& archive_of(std::int64_t i) const { return archive(static_cast<std::size_t>(i)).path(); }

 private:
  struct place {
    std::uint32_t archive = 0;
    std::int32_t label = 0;
    std::uint64_t entry = 0;
  };

  static std::vector<std::string> archives_at(std::string const& folder) {
    if (detail::size_of_file(folder)) return {folder};
    std::vector<std::string> names = detail::sorted_names_in(folder);
    std::erase_if(names, [](std::string const& name) { return !name.ends_with(".zip"); });
    if (names.empty())
      throw data_error(
          {.what = "there are no archives", .where = folder, .expected = "NAME.zip", .got = "none"});
    for (std::string& name : names) name = folder + '/' + name;
    return names;
  }

  /// The folder in which a file is: "cat" of "train/cat/1.jpg"; nothing if it is in none.
  static std::string_view parent_of(std::string_view path) {
    std::size_t const end = path.rfind('/');
    if (end == std::string_view::npos) return {};
    std::string_view const above = path.substr(0, end);
    return above.substr(above.rfind('/') + 1);  // npos + 1 is 0
  }

  /// Lists all files, and gives the labels.
  std::vector<std::string> listed(std::vector<std::string> const& archives, std::vector<std::string> labels) {
    for (std::string const& path : archives) {
      archives_.push_back(std::make_unique<detail::zip_reader>(path));
      std::uint64_t number = 0;
      for (auto const& entry : archives_.back()->entries()) {
        place const at{.archive = static_cast<std::uint32_t>(archives_.size() - 1), .entry = number++};
        if (entry.name.ends_with('/')) continue;
        std::string_view const name = std::string_view(entry.name).substr(entry.name.rfind('/') + 1);
        if (!detail::is_image_file(name, in(path, entry.name))) continue;
        if (parent_of(entry.name).empty())
          throw data_error({.what = "the file is in no folder, which would be its class",
                            .where = path,
                            .expected = "CLASS/NAME",
                            .got = entry.name});
        places_.push_back(at);
        paths_.push_back(entry.name);
      }
    }
    if (paths_.empty())
      throw data_error({.what = "there are no images in the archives",
                        .where = archives.empty() ? "" : archives[0],
                        .expected = "CLASS/NAME.jpg or .png",
                        .got = "none"});
    number_classes(labels);
    return labels;
  }

  /// Gives every file its label, and the list its names if it has none.
  void number_classes(std::vector<std::string>& labels) {
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
        throw data_error({.what = "a class has no file in the archives",
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
                          .expected = {"one of the ", labels.size(), " classes that are given"},
                          .got = {parent_of(paths_[i])}});
    }
  }

  static std::string in(std::string const& archive, std::string const& name) { return archive + ", " + name; }
  detail::zip_reader const& archive(std::size_t i) const { return *archives_[places_[i].archive]; }
  std::string where(std::size_t i) const { return in(archive(i).path(), paths_[i]); }
  std::vector<std::byte> bytes_of_file(std::size_t i) const {
    return archive(i).read(places_[i].entry, reader_.max_file_bytes());
  }

  std::vector<std::unique_ptr<detail::zip_reader>> archives_;
  std::vector<place> places_;
  std::vector<std::string> paths_;
  detail::image_reader reader_;  // after the lists, which its labels come from
  data_description what_;
};

}  // namespace cohort
