// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/partition.hpp>
#include <cohort/interchange/prediction_file_settings.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Examples whose outputs are stored in the same part files.
struct prediction_chunk {
  int rank;              // rank whose data set contains the examples; 0 with sharding::global
  index_slice examples;  // indices in the data set of `rank`
  std::int64_t row;      // index of the first example in the order of examples
};

/// One output of the network in a result.
struct prediction_output {
  std::string name;
  shape example;
  std::vector<std::string> classes;  // names of the indices of the last axis; empty: no names
};

/// One array of a result in NPY.
struct prediction_array {
  std::string suffix;              // suffix of the file's name
  std::string type;                // "<f4", "<i8"; "|S": bytes of any width
  std::vector<std::int64_t> dims;  // extents of one row
  std::size_t row_bytes;           // size of a row; 0 for "|S"

  /// Returns the header of a file with `rows` rows. `width`: bytes per row of "|S".
  std::string header(std::int64_t rows, std::size_t width = 0) const;
};

/// Names and contents of the files of one call of write_predictions.
struct prediction_layout {
  std::string path;
  prediction_format format;
  prediction_order order;
  key_type keys;
  bool keyed = false;
  bool local = false;
  std::vector<prediction_output> outputs{};
  std::vector<prediction_chunk> chunks{};
  std::int64_t rows = 0;

  /// Divides the data sets into chunks. `sizes`: one per rank, or one if all ranks have the same data set.
  void divide(std::span<std::int64_t const> sizes, std::int64_t chunk);

  bool sorted() const { return order == prediction_order::keys; }
  std::string folder() const { return path + ".parts"; }
  /// Returns the path of a part file: folder()/part-000012.csv.
  std::string part(std::size_t which, std::string_view suffix) const;
  /// Returns the suffixes of a chunk's part files.
  std::vector<std::string> part_suffixes() const;
  /// Returns the paths of the result's files.
  std::vector<std::string> files() const;
  std::string file(std::string_view suffix) const;

  /// Returns the arrays of a result in NPY: the outputs, then the keys.
  ///
  /// Errors    setting_error if two arrays have the same file name.
  std::vector<prediction_array> arrays() const;
  /// The first line of a CSV file.
  std::string header() const;
  /// Returns "example 12", or "example 12 of rank 1", for a row in the order of examples.
  std::string example_of(std::int64_t row) const;
  /// Returns the index of the chunk that contains a row.
  std::size_t chunk_of(std::int64_t row) const;
};

/// Appends a field of a CSV file: in quotes if necessary (RFC 4180).
void append_csv_field(std::string& to, std::string_view field);

inline constexpr std::string_view csv_suffix = ".csv", key_run_suffix = ".sorted";

}  // namespace cohort::detail
