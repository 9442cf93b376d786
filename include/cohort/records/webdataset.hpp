// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/records/record_index.hpp>

namespace cohort {

/// Format of the tar archives of a WebDataset: consecutive files form one record if their names are equal up
/// to the first dot after the last slash. The rest of the name is the field, converted to lower case:
/// a/0012.jpg and a/0012.cls are the fields "jpg" and "cls" of the record with key "a/0012".
///
/// Shapes    uncompressed tar in the formats of POSIX (ustar, pax) and GNU. Folders and links are skipped,
///           and so are files whose name contains no dot, or begins with a dot or with "__".
/// Errors    file_error; data_error naming archive and byte: a header with a wrong checksum, a truncated
///           archive, a field twice in a record, more than 256 fields, a compressed archive, a sparse file.
/// Source    github.com/webdataset/webdataset (naming); POSIX.1-2017, pax (format).
record_format webdataset();

}  // namespace cohort
