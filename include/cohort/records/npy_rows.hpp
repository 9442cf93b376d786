// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/inflater.hpp>
#include <cohort/io/npy.hpp>
#include <cohort/records/record_index.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <string>
#include <vector>

namespace cohort {

/// Format of arrays in .npy files, which may be larger than memory: record r has one field, "row", with the
/// bytes of row r.
///
/// Shapes    a file with the extents (N, ...) has N records of the extents (...); npy_row_of returns type and
///           extents of these records.
/// Before    elements of type bool are 0 or 1; this is not checked.
/// Errors    file_error; data_error naming the file for a file that npy_array rejects, an array of f16 or
///           without extents, rows without elements, or several extents in Fortran order (convert the array
///           by numpy.ascontiguousarray).
record_format npy_rows();

/// Type and extents of each row of an array in a file.
struct array_row {
  element_type type = element_type::f32;
  shape extents{};

  bool operator==(array_row const&) const = default;
};

/// Returns the type and the extents of the rows of a .npy file. Only the header is read.
///
/// Errors    as npy_rows.
array_row npy_row_of(std::string const& path);

/// Format of arrays in .npz files, which may be larger than memory: record r has one field per array, with
/// the array's name and the bytes of the array's row r.
///
///     record_set const records({"part-0.npz", "part-1.npz"}, npz_rows({"image", "label"}, gzip::inflate));
///
/// Shapes    as npy_rows; these arrays have the same number of rows in a file.
/// Before    as npy_rows. The checksums of arrays without compression are not checked.
/// Parameters  `arrays`: their names; empty: all arrays of a file. `inflate`: required only for arrays that
///           numpy.savez_compressed wrote, such as gzip::inflate of cohort/zlib.hpp.
/// Cost      reading a row of a compressed array decompresses the whole array, which stays in the
///           record_set's cache of blocks. The compressed arrays of a file must fit into this cache
///           (record_settings::max_block_bytes). All files share the cache: if the arrays of all files
///           together exceed it, shuffle with `.blocks`, because reading rows of many files in random order
///           would decompress a whole array for almost every row.
/// Errors    those of npy_rows; setting_error for a duplicate name. data_error for a file that is no zip
///           archive, an array that is missing, damaged, or compressed without `inflate`, or arrays with
///           different numbers of rows. Other arrays of the file are not read, so their types do not matter.
record_format npz_rows(std::vector<std::string> arrays = {}, io::inflater inflate = {});

/// Returns the type and the extents of the rows of an array in a .npz file.
///
/// Errors    as npz_rows.
array_row npz_row_of(std::string const& path, std::string const& array, io::inflater const& inflate = {});

}  // namespace cohort
