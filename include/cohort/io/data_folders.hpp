// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the value of an environment variable; "" if it is not set.
std::string environment_variable(char const* name);

}  // namespace cohort::detail

namespace cohort::io {

/// Returns the path of Cohort's cache folder, or of its subfolder if `subfolder` is not "". The cache folder
/// is $XDG_CACHE_HOME/cohort or ~/.cache/cohort; it contains the downloads of cmake/setup.sh and the
/// library's cached files. If neither XDG_CACHE_HOME nor HOME is set, returns "".
std::string cache_folder(std::string const& subfolder = {});

/// Returns the default search path for data sets: $COHORT_DATA, data/, and cache_folder(cache_subfolder).
/// Folders whose environment variables are not set are omitted.
std::vector<std::string> data_folders(std::string const& cache_subfolder = {});

}  // namespace cohort::io
