// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/inflater.hpp>
#include <cohort/keras/detail/implementation.hpp>
#include <cohort/records/npy_rows.hpp>
#include <cohort/records/record_index.hpp>
#include <string>
#include <vector>

namespace cohort {

/// Record format for arrays in HDF5 files, which may be larger than memory. Record r has one field per array:
/// the field's name is the path of the array, and its bytes are row r.
///
///     record_set const records({"train.h5"}, hdf5_rows({"data", "label"}, gzip::inflate));
///
/// Shapes    an array with the extents (N, ...) has N rows of the extents (...), see hdf5_row_of. All listed
///           arrays of a file have the same number of rows. Elements are little-endian f32, f64, i32, i64,
///           u64 or u8. The files have h5py's default format; the arrays may be in chunks with the filters
///           gzip (deflate) or lzf, shuffle and fletcher32, and may have a maxshape. Elements of chunks that
///           were never written are the array's fill value.
/// Parameters  `inflate`: required only for gzip, such as gzip::inflate of cohort/zlib.hpp.
/// Cost      reading a row reads the chunks that contain it, which stay in the record_set's cache of blocks.
/// Errors    file_error; setting_error without arrays or for a repeated name. data_error naming file and
///           array for a damaged file, and for an array that is missing, of another type, with another
///           filter, with unwritten chunks and an undefined fill value, without rows, or with another number
///           of rows than the first array. Reading a row throws data_error for a damaged chunk.
/// Source    HDF5 File Format Specification, version 3.0. libhdf5 is not used.
record_format hdf5_rows(std::vector<std::string> arrays, io::inflater inflate = {});

/// Returns the type and the extents of the rows of an array in an HDF5 file.
///
/// Errors    as hdf5_rows.
array_row hdf5_row_of(std::string const& path, std::string const& array);

}  // namespace cohort
