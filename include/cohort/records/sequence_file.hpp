// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/records/record_index.hpp>

namespace cohort {

/// Hadoop SequenceFiles of version 6: records with the fields "key" and "value", in the order of the file.
///
/// Shapes    of a BytesWritable or Text, the content without its length; of another class, the bytes that its
///           write() produced.
/// Errors    file_error; data_error naming file and byte: a damaged or truncated file, a wrong sync mark,
///           another version. Compressed records and blocks are rejected: write the file again without a
///           codec.
/// Source    Apache Hadoop, SequenceFile (class documentation) and WritableUtils (lengths).
record_format sequence_file();

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/records/impl/sequence_file.ipp>
#endif
