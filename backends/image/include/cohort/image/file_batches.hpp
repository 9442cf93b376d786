// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/image/detail/image_reader.hpp>
#include <cohort/image/detail/zip_file.hpp>
#include <cohort/image/image_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Images in zip archives, as an indexed data set. The archives, compressed or not, are written by pack_files
/// or by another program. get reads and decodes a file on the calling thread.
///
/// Shapes    as for image_folder.
/// Order     examples are ordered by archive as given, then by entry. The name of a file's folder is its
///           class: "train/cat/1.jpg" is a cat. Labels number the classes sorted by name, or in the order of
///           settings.labels unless that is empty.
/// Moves     keeps all names in memory and every archive open: `ulimit -n` must be large enough.
/// Errors    When constructed: file_error for an archive that cannot be opened, data_error for a damaged
///           archive.
///           data_error naming archive and file for a file that is in no folder, whose class is not in
///           settings.labels, or whose name is not an image's name (hidden files and folders are skipped).
///           data_error for a class of settings.labels without files, or if there are no images.
///           From get: data_error naming archive and file.
class file_batches {
 public:
  /// Opens the archives of one folder, sorted by name, or one archive.
  explicit file_batches(std::string const& path, image_settings settings = {})
      : file_batches(archives_at(path), std::move(settings)) {}

  /// Opens the archives in the given order.
  explicit file_batches(std::vector<std::string> const& archives, image_settings settings = {});

  data_description const& describe() const& { return what_; }
  data_description describe() && { return what_; }  // outlives the temporary
  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  void get(std::int64_t i, example_view& out) const;
  std::int64_t label(std::int64_t i) const { return places_[static_cast<std::size_t>(i)].label; }

  /// Returns the names of the class folders, by label. The description uses settings.words instead, if not
  /// empty.
  std::vector<std::string> const& labels() const& { return reader_.labels(); }
  std::vector<std::string> const& labels() const&& = delete;  // keep the images in a variable

  /// Returns the names of the examples' files in the archives, such as "train/cat/1.jpg", by index.
  std::vector<std::string> const& paths() const& { return paths_; }
  std::vector<std::string> const& paths() const&& = delete;  // keep the images in a variable
  /// Returns the path of the archive that contains an example.
  std::string const& archive_of(std::int64_t i) const& { return archive(static_cast<std::size_t>(i)).path(); }
  std::string const& archive_of(std::int64_t i) const&& = delete;  // keep the images in a variable

 private:
  struct place {
    std::uint32_t archive = 0;
    std::int32_t label = 0;
    std::uint64_t entry = 0;
  };

  static std::vector<std::string> archives_at(std::string const& folder);

  /// Returns the name of a file's folder: "cat" for "train/cat/1.jpg"; "" if the file is in no folder.
  static std::string_view parent_of(std::string_view path);

  /// Lists all files and returns the labels.
  std::vector<std::string> list_files(std::vector<std::string> const& archives,
                                      std::vector<std::string> labels);

  /// Assigns a label to every file. Fills `labels` with the classes found if it is empty.
  void assign_labels(std::vector<std::string>& labels);

  static std::string location(std::string const& archive, std::string const& name) {
    return archive + ", " + name;
  }
  detail::zip_file const& archive(std::size_t i) const { return *archives_[places_[i].archive]; }
  std::string where(std::size_t i) const;
  std::vector<std::byte> bytes_of_file(std::size_t i) const;

  std::vector<std::unique_ptr<detail::zip_file>> archives_;
  std::vector<place> places_;
  std::vector<std::string> paths_;
  detail::image_reader reader_;  // declared after the lists, which determine its labels
  data_description what_;
};

}  // namespace cohort
