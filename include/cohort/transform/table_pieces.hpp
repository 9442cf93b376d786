// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/data_table.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/io/file.hpp>
#include <cohort/transform/column_schema.hpp>
#include <functional>
#include <string>
#include <vector>

namespace cohort {

/// Rows in pieces, for data that is read several times or does not fit into memory. A call passes each piece
/// to `use`, in the same order in every call.
using table_pieces = std::function<void(std::function<void(data_table const&)> const& use)>;

/// Returns the rows of files, one piece per file. Each call reads the files again, one after another, by
/// read_table with format_of(schema, format).
///
/// Parameters  `files`: the files of this rank, or all files; may be empty. `source`: as in read_table.
/// Errors    a call throws the errors of read_table, which names file, line and column.
table_pieces pieces_of(std::vector<std::string> files, table_schema const& schema,
                       table_settings const& format = {}, io::byte_source const& source = {});

}  // namespace cohort
