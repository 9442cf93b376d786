// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/npy.hpp>
#include <cohort/records/record_index.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <string>

namespace cohort {

/// Arrays in .npy files that may be larger than memory, as records: record r has one field, "row", with the
/// bytes of row r.
///
/// Shapes    a file with the extents (N, ...) has N records of the extents (...); npy_row_of describes them.
/// Before    elements of type bool are 0 or 1; this is not checked.
/// Errors    file_error; data_error naming the file for a file that npy_array rejects, an array without
///           extents, or one of several extents in Fortran order (numpy.ascontiguousarray changes it).
record_format npy_rows();

/// Type and extents of each row of an array.
struct npy_row {
  element_type type = element_type::f32;
  shape extents{};

  bool operator==(npy_row const&) const = default;
};

/// Returns the type and the extents of the rows of a .npy file. Only the header is read.
///
/// Errors    as npy_rows.
npy_row npy_row_of(std::string const& path);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/interchange/impl/npy_rows.ipp>
#endif
