// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/detail/npy_layout.hpp>
#include <cohort/records/record_index.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns an array's layout.
///
/// Errors    data_error naming `where` unless the array has rows, which are contiguous and not empty.
npy_layout with_rows(npy_layout const& layout, std::string const& where);

/// Returns the index of arrays of one file; `first` of each layout is a byte of the file. Each row is a
/// record with one field per array.
///
/// Errors    data_error without arrays, or for different numbers of rows.
record_index index_of_rows(std::vector<std::string> names, std::vector<npy_layout> const& arrays,
                           std::string const& path);

/// Throws setting_error naming `where` if a name occurs twice.
void check_array_names(std::vector<std::string> const& names, char const* where);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/interchange/impl/array_rows.ipp>
#endif
