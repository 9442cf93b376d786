// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/dataset.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/sorted_names.hpp>
#include <cohort/image/image_settings.hpp>
#include <cohort/io/file.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
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
  explicit image_folder(std::string folder, image_settings settings = {})
      : folder_(std::move(folder)), reader_(settings, classes_of(folder_, settings.labels)) {
    what_ = reader_.describe();
    std::vector<std::string> const& labels = what_.targets[0].label_names;
    for (std::size_t label = 0; label < labels.size(); ++label)
      for (std::string const& name : detail::sorted_names_in(folder_ + '/' + labels[label])) {
        std::string path = labels[label] + '/' + name;
        if (!detail::is_image_file(name, full(path))) continue;
        paths_.push_back(std::move(path));
        labels_.push_back(static_cast<std::int32_t>(label));
      }
    if (paths_.empty())
      throw data_error({.what = "there are no images",
                        .where = folder_,
                        .expected = "CLASS/NAME.jpg or .png",
                        .got = "none"});
    if (reader_.needs_size()) {
      reader_.take_size_of(bytes_of_file(0), full(paths_[0]));
      what_ = reader_.describe();
    }
  }

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  void get(std::int64_t i, example_view& out) const {
    auto const at = static_cast<std::size_t>(i);
    reader_.write(bytes_of_file(at), full(paths_[at]), paths_[at], labels_[at], out);
  }

  /// The examples' files, "cat/1.jpg", by their numbers.
  std::vector<std::string> const& paths() const { return paths_; }

 private:
  static std::vector<std::string> classes_of(std::string const& folder, std::vector<std::string> labels) {
    std::vector<std::string> found = detail::sorted_names_in(folder);
    std::erase_if(found,
                  [&](std::string const& name) { return !detail::leads_to_folder(folder + '/' + name); });
    if (found.empty())
      throw data_error({.what = "there are no class folders",
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
                          .expected = {"the ", labels.size(), " classes that are given"},
                          .got = name});
    return labels;
  }

  std::string full(std::string const& path) const { return folder_ + '/' + path; }
  std::vector<std::byte> bytes_of_file(std::size_t i) const {
    return read_file(full(paths_[i]), reader_.max_file_bytes());
  }

  std::string folder_;
  detail::image_reader reader_;
  data_description what_;
  std::vector<std::string> paths_;
  std::vector<std::int32_t> labels_;
};

}  // namespace cohort
