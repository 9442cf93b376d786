// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/image/detail/zip.hpp>
#include <cohort/image/image_settings.hpp>
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

  explicit file_batches(std::vector<std::string> const& archives, image_settings settings = {});

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  void get(std::int64_t i, example_view& out) const;

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

  static std::vector<std::string> archives_at(std::string const& folder);

  /// The folder in which a file is: "cat" of "train/cat/1.jpg"; nothing if it is in none.
  static std::string_view parent_of(std::string_view path);

  /// Lists all files, and gives the labels.
  std::vector<std::string> listed(std::vector<std::string> const& archives, std::vector<std::string> labels);

  /// Gives every file its label, and the list its names if it has none.
  void number_classes(std::vector<std::string>& labels);

  static std::string in(std::string const& archive, std::string const& name) { return archive + ", " + name; }
  detail::zip_reader const& archive(std::size_t i) const { return *archives_[places_[i].archive]; }
  std::string where(std::size_t i) const;
  std::vector<std::byte> bytes_of_file(std::size_t i) const;

  std::vector<std::unique_ptr<detail::zip_reader>> archives_;
  std::vector<place> places_;
  std::vector<std::string> paths_;
  detail::image_reader reader_;  // after the lists, which its labels come from
  data_description what_;
};

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/file_batches.ipp>
#endif
