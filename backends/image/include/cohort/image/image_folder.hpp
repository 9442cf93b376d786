// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/image/image_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// Images in folders that are named like their classes, folder/cat/1.jpg: an indexed data set that reads and decodes a
/// file when its example is asked for, on the thread that asks.
///
/// Shapes    input channels × height × width, u8 that arrive as f32 in [0, 1]; label i32.
/// Order     labels count the class folders in the order of their names' bytes, or as settings.labels lists them;
///           examples are sorted by label, then by name: the same on every machine that has the same files.
/// Errors    When made: file_error for a folder that is missing; data_error for a class of settings.labels without a
///           folder, a folder that they do not name, a file in a class folder that is no image by its name (hidden ones
///           are left out; files beside the class folders too), and if there are no images.
///           When asked for: file_error or data_error naming the file.
class image_folder {
 public:
  explicit image_folder(std::string folder, image_settings settings = {});

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  void get(std::int64_t i, example_view& out) const;

  /// The examples' files, "cat/1.jpg", by their numbers.
  std::vector<std::string> const& paths() const { return paths_; }

 private:
  static std::vector<std::string> classes_of(std::string const& folder, std::vector<std::string> labels);

  std::string full(std::string const& path) const { return folder_ + '/' + path; }
  std::vector<std::byte> bytes_of_file(std::size_t i) const;

  std::string folder_;
  detail::image_reader reader_;
  data_description what_;
  std::vector<std::string> paths_;
  std::vector<std::int32_t> labels_;
};

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/image_folder.ipp>
#endif
