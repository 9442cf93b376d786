// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the names in a folder, except hidden ones, in byte order, so that the order does not depend on the
/// file system.
std::vector<std::string> sorted_names_in(std::string const& folder);

/// Returns whether the path is a folder or a symbolic link to a folder.
bool is_folder_or_link(std::string const& path);

}  // namespace cohort::detail
