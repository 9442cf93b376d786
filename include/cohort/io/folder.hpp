// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// File system operations on paths. All functions throw file_error on failure.
namespace cohort::io {

/// Returns the names of the folder's entries, unordered; nullopt if nothing, not even a link, has this path.
std::optional<std::vector<std::string>> list_folder(std::string const& folder);

/// Returns whether the path is a folder. A link to a folder does not count.
bool is_folder(std::string const& path);

/// Returns the size of a regular file in bytes; nullopt if there is no regular file at the path.
std::optional<std::uint64_t> size_of_file(std::string const& path);

/// Creates the folder and its parent folders. Does nothing if the path already exists.
void make_folder(std::string const& path);

/// Renames a folder.  Before: `to` does not exist or is an empty folder.
void rename_folder(std::string const& from, std::string const& to);

/// Removes the file if it exists.
void remove_file(std::string const& path);

/// Removes the folder if it exists and is empty.
void remove_empty_folder(std::string const& path);

/// Synchronises the folder's entries with the disk (fsync).
void synchronise_folder(std::string const& folder);

}  // namespace cohort::io
