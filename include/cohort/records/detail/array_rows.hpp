// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/npy_layout.hpp>
#include <cohort/records/record_index.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns `layout` if the array consists of rows.
///
/// Errors    data_error naming `where` if the array has f16 elements, rows that are not contiguous, rows
///           without elements, or no extents.
npy_layout with_rows(npy_layout const& layout, std::string const& where);

/// Returns the index of arrays of one file; `first` of each layout is an offset in the file. Each row is a
/// record with one field per array.
///
/// Errors    data_error if there are no arrays, or if the numbers of rows differ.
record_index index_of_rows(std::vector<std::string> names, std::vector<npy_layout> const& arrays,
                           std::string const& path);

/// Returns the name of a record_format: "<function> 1" and the names of the arrays. Different lists of arrays
/// give different names.
///
/// Errors    setting_error naming `function` if a name occurs twice.
std::string array_format_name(std::string const& function, std::vector<std::string> const& arrays);

}  // namespace cohort::detail
