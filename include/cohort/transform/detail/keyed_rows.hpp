// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/transform/detail/byte_coding.hpp>
#include <cohort/transform/detail/row_frame.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// The place from which a row was read.
struct row_origin {
  std::int32_t file;  // index into keyed_rows::files
  std::int64_t row;   // number of the row in the file
  std::int32_t rank;  // −1: a run of a single rank
};

/// The files and rows from which rows were read.
struct row_places {
  std::vector<std::string> files{};
  std::vector<row_origin> origins{};  // one per row

  /// Returns a row's place for messages.
  std::string place(std::size_t row, std::string_view column) const;
};

/// Rows of several files and ranks.
///
/// Shapes    columns are those of the schema: numbers as f64; texts as codes. Codes follow the order of first
///           occurrence until sequence_maker sorts the texts.
class keyed_rows : public row_places {
 public:
  explicit keyed_rows(table_schema schema);

  table_schema schema;
  std::vector<table_column> columns{};

  std::size_t rows() const { return origins.size(); }
  /// Adds the rows that write_rows has written.  Errors: data_error.
  void append(byte_reader& in);
};

/// Writes the rows `which` of a frame.
void write_rows(byte_writer& out, row_frame const& frame, std::span<std::size_t const> which, int rank);

/// Returns the bytes of a row's key. The bytes sort like the keys: numbers by value, texts by bytes.
///
/// Before    the row has no missing key.
std::string bytes_of_key(std::span<table_column const* const> keys, std::size_t row);

/// Returns the rank that keeps the rows of a key.
int rank_of_key(std::string_view key, int ranks);

/// Sends `parts[r]` to rank r. Returns the parts that this rank receives, in the order of their senders.
///
/// Order     collective.
std::vector<std::vector<std::byte>> exchange(communicator& world, std::vector<std::vector<std::byte>> parts);

/// The rows of keyed_sequences, sorted, and the range of each sequence.
struct sequence_content : row_places {
  struct range {
    int first;
    int length;
    std::int32_t key;  // index into `keys`
  };

  data_table rows;
  table_schema schema;
  std::vector<std::string> keys{};
  std::vector<range> ranges{};
  std::vector<std::string> not_inputs{};  // keys and order
  int longest = 1;                        // length of the longest sequence of all ranks
  transform_report report{};
};

}  // namespace cohort::detail
