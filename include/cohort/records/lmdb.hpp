// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/records/record_index.hpp>
#include <string>

namespace cohort {

/// Format of LMDB databases, in which Caffe and CaffeOnSpark store data sets: records in the order of their
/// keys, with one field, "value". The files are read without liblmdb: nothing is locked, mapped or written.
///
/// Before    no process writes to the database.
/// Shapes    one unnamed database with unique keys, in the file format of LMDB 0.9 (version 1) of a 64-bit
///           little-endian machine.
/// Errors    file_error; data_error naming file and page for a damaged or truncated file, named databases,
///           several values for a key, or any other version.
/// Source    LMDB 0.9, mdb.c (page layout).
record_format lmdb();

/// Returns the file of a database: `path` itself, or the file data.mdb in `path` if `path` is a folder.
std::string lmdb_file(std::string const& path);

}  // namespace cohort
