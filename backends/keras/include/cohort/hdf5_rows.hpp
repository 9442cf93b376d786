// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/keras/detail/implementation.hpp>
#include <cohort/records/npy_rows.hpp>
#include <cohort/records/record_index.hpp>
#include <string>
#include <vector>

namespace cohort {

/// Arrays in HDF5 files that may be larger than memory, as records: record r has one field per array, named
/// by the path of the array, with the bytes of its row r.
///
///     record_set const records({"train.h5"}, hdf5_rows({"data", "label"}));
///
/// Shapes    an array with the extents (N, ...) has N rows of the extents (...); hdf5_row_of describes them.
///           All these arrays of a file have the same number of rows. Elements are little-endian f32, f64,
///           i32, i64, u64 or u8. The files are as h5py writes them by default: arrays without chunks,
///           compression and maxshape.
/// Errors    file_error; setting_error without arrays or for a name twice. data_error naming file and array
///           for a damaged file, an array that is missing, of another type, chunked or compressed, or has no
///           rows or other numbers of rows.
/// Source    HDF5 File Format Specification, version 3.0. libhdf5 is not used.
record_format hdf5_rows(std::vector<std::string> arrays);

/// Returns the type and the extents of the rows of an array in an HDF5 file.
///
/// Errors    as hdf5_rows.
array_row hdf5_row_of(std::string const& path, std::string const& array);

}  // namespace cohort
