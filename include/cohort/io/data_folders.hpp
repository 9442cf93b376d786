// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace cohort {

namespace detail {

/// "" where it is not set.
std::string environment_variable(char const* name);

}  // namespace detail

/// The folder `inside` ("": itself) of the cache that the set-up fills: $XDG_CACHE_HOME/cohort or ~/.cache/cohort; "" where
/// neither XDG_CACHE_HOME nor HOME is set.
std::string cache_folder(std::string const& inside = {});

/// Where a data set is looked for when its user names no folder: $COHORT_DATA, data/, and the folder `in_cache` of the cache
/// (cache_folder). What is not set is left out.
std::vector<std::string> data_folders(std::string const& in_cache = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/data_folders.ipp>
#endif
