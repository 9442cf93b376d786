// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cohort {

/// Files in folders named after their classes, folder/cat/1.jpg, for data sets of files.
struct class_folders {
  std::vector<std::string> labels{};    ///< names of the classes 0, 1, …
  std::vector<std::string> paths{};     ///< "cat/1.jpg", sorted by class, then by name
  std::vector<std::int32_t> classes{};  ///< the class of each path

  /// Lists the files. An empty folder is no class, unless the labels name it. Hidden files and folders, and
  /// files outside the class folders, are skipped.
  ///
  /// `labels`    the classes in order; empty: the names of the folders in byte order
  /// `accepts`   returns whether a file with this name and path is an example, or throws
  /// `expected`  description of an example's path for errors: "CLASS/NAME.wav"
  ///
  /// Order     the same on every machine with the same files.
  /// Errors    file_error for a missing folder; data_error for a class without a folder, a folder that is no
  ///           class, and no examples; setting_error for a label that occurs twice.
  static class_folders list(std::string const& folder, std::vector<std::string> labels,
                            std::function<bool(std::string const&, std::string const&)> const& accepts,
                            char const* expected);
};

namespace detail {

/// Returns the names in a folder, except hidden ones, in byte order, so that the order does not depend on the
/// file system.
std::vector<std::string> sorted_names_in(std::string const& folder);

/// Returns whether the path is a folder or a symbolic link to a folder.
bool is_folder_or_link(std::string const& path);

/// Throws setting_error if a label occurs twice in the list.
void require_unique(std::vector<std::string> labels);

}  // namespace detail

}  // namespace cohort
