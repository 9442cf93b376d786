// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Folders by their paths; what cannot be done is a file_error.
namespace cohort::detail {

/// What is in the folder, in no order; nothing if there is no such folder.
std::optional<std::vector<std::string>> names_in(std::string const& folder);

/// Whether it is a folder itself, not a link to one.
bool is_folder(std::string const& path);

/// The bytes of a regular file; nothing if there is none.
std::optional<std::uint64_t> size_of_file(std::string const& path);

/// After     it is there, also if it was; so are the folders above it.
void make_folder(std::string const& path);

/// Before    `to` does not exist, or is an empty folder.
void rename_folder(std::string const& from, std::string const& to);

void remove_file(std::string const& path);

/// After     it is gone, unless something is in it.
void remove_empty_folder(std::string const& path);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/folder.ipp>
#endif
