// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <string>
#include <vector>

namespace cohort::detail {

/// What is in a folder, sorted by the bytes of its names, so that no file system's order is seen; without hidden names.
std::vector<std::string> sorted_names_in(std::string const& folder);

/// Whether the path leads to a folder, perhaps by a link.
bool leads_to_folder(std::string const& path);

}  // namespace cohort::detail

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/sorted_names.ipp>
#endif
