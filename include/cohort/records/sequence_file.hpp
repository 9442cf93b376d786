// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/records/record_index.hpp>

namespace cohort {

/// Format of Hadoop SequenceFiles, version 6: records with the fields "key" and "value", in file order.
///
/// Records and blocks may be compressed by DefaultCodec (zlib) or GzipCodec:
///
///     record_set const records(paths, sequence_file(gzip::inflate));   // cohort/zlib.hpp
///
/// Shapes    the field of a BytesWritable or Text is the content without its length. For any other class, the
///           field is the output of the class's write().
/// Parameters  `inflate` decompresses. If `inflate` is empty, compressed files are rejected.
/// Cost      indexing decompresses the whole file. Reading a record decompresses its whole block (Hadoop
///           writes blocks of 1 MB), and the record_set caches this block for the next records.
/// Errors    file_error; data_error naming file and byte: a damaged or truncated file, a wrong sync mark,
///           any other version or codec, a block of more than 1 GiB of keys or values.
/// Source    Apache Hadoop, SequenceFile (class documentation) and WritableUtils (lengths).
record_format sequence_file(io::inflater inflate = {});

}  // namespace cohort
