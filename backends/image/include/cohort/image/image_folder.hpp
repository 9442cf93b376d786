// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/class_folders.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/image/detail/image_reader.hpp>
#include <cohort/image/image_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// Images in folders named after their classes, folder/cat/1.jpg, as an indexed data set. get reads and
/// decodes a file on the calling thread.
///
/// Shapes    input channels × height × width, stored as u8, delivered as f32 in [0, 1], or normalised per
///           channel; label i32.
/// Order     labels number the class folders in byte order of their names, or in the order of settings.labels
///           unless that is empty. An empty folder is no class, unless settings.labels contains it. Examples
///           are sorted by label, then by name, so that the order is the same on every machine with the same
///           files.
/// Errors    When constructed: file_error for a missing folder. data_error for a class of settings.labels
///           without a folder, for a folder that is not in settings.labels, and for a file in a class folder
///           whose name is not an image's name (hidden files and files outside the class folders are
///           skipped). data_error if there are no images.
///           From get: file_error or data_error naming the file.
class image_folder {
 public:
  explicit image_folder(std::string folder, image_settings settings = {});

  data_description const& describe() const& { return what_; }
  data_description describe() && { return what_; }  // outlives the temporary
  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  void get(std::int64_t i, example_view& out) const;
  std::int64_t label(std::int64_t i) const { return labels_[static_cast<std::size_t>(i)]; }

  /// Returns the names of the class folders, by label. The description uses settings.words instead, if not
  /// empty.
  std::vector<std::string> const& labels() const& { return reader_.labels(); }
  std::vector<std::string> const& labels() const&& = delete;  // keep the images in a variable

  /// Returns the names of the examples' files, such as "cat/1.jpg", by index.
  std::vector<std::string> const& paths() const& { return paths_; }
  std::vector<std::string> const& paths() const&& = delete;  // keep the images in a variable

 private:
  image_folder(std::string folder, image_settings settings, class_folders files);

  std::string full_path(std::string const& path) const { return folder_ + '/' + path; }
  std::vector<std::byte> bytes_of_file(std::size_t i) const;

  std::string folder_;
  detail::image_reader reader_;
  data_description what_;
  std::vector<std::string> paths_;
  std::vector<std::int32_t> labels_;
};

}  // namespace cohort
