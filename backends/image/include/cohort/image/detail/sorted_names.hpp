// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Names in a folder without hidden ones, sorted by bytes, independent of the file system's order.
std::vector<std::string> sorted_names_in(std::string const& folder);

/// Whether the path is a folder or a link to one.
bool is_folder_or_link(std::string const& path);

}  // namespace cohort::detail

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/sorted_names.ipp>
#endif
