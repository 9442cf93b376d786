// SPDX-License-Identifier: Apache-2.0
#include <cohort/transform/table_pieces.hpp>
#include <utility>

namespace cohort {

table_pieces pieces_of(std::vector<std::string> files, table_schema const& schema,
                       table_settings const& format, io::byte_source const& source) {
  return [files = std::move(files), how = format_of(schema, format), source](auto const& use) {
    for (std::string const& file : files) use(read_table(file, how, source));
  };
}

}  // namespace cohort
