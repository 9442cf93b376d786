// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the names in a folder, except hidden ones, sorted by bytes: the order does not depend on the file
/// system.
std::vector<std::string> sorted_names_in(std::string const& folder);

/// Whether the path is a folder or a link to one.
bool is_folder_or_link(std::string const& path);

}  // namespace cohort::detail
