// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/records/record_index.hpp>

namespace cohort {

/// Hadoop SequenceFiles of version 6: records with the fields "key" and "value", in the order of the file.
///
/// Records and blocks may be compressed by DefaultCodec (zlib) or GzipCodec:
///
///     record_set const records(paths, sequence_file(gzip::inflate));   // cohort/zlib.hpp
///
/// Shapes    of a BytesWritable or Text, the content without its length; of another class, the bytes that its
///           write() produced.
/// Parameters  `inflate`: decompresses; if it is empty, compressed files are rejected.
/// Cost      indexing decompresses the whole file. A record in a compressed block needs the whole block
///           (Hadoop writes blocks of 1 MB), which the record_set keeps for the next records.
/// Errors    file_error; data_error naming file and byte: a damaged or truncated file, a wrong sync mark,
///           another version, another codec, a block of more than 1 GiB of keys or values.
/// Source    Apache Hadoop, SequenceFile (class documentation) and WritableUtils (lengths).
record_format sequence_file(io::inflater inflate = {});

}  // namespace cohort
