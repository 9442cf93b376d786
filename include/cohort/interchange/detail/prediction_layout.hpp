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

/// Examples whose outputs form one part file.
struct prediction_chunk {
  int rank;              // whose data set has the examples; 0 with sharding::global
  index_slice examples;  // in that data set
  std::int64_t row;      // of the first example in the result in the order of examples
};

/// One output of the network in a result.
struct prediction_output {
  std::string name;
  shape example;
  std::vector<std::string> classes;  // names along the last axis; none: indices
};

/// One array of a result in NPY.
struct prediction_array {
  std::string suffix;              // of the file's name
  std::string type;                // "<f4", "<i8"; "|S": bytes of any width
  std::vector<std::int64_t> dims;  // of one row
  std::size_t row_bytes;           // 0 for "|S"

  /// Returns the header of a file with `rows` rows; `width`: of "|S".
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

  /// Divides the ranks' data sets, one if all ranks have the same, into chunks.
  void divide(std::span<std::int64_t const> sizes, std::int64_t chunk);

  bool sorted() const { return order == prediction_order::keys; }
  std::string folder() const { return path + ".parts"; }
  /// The path of a part file: folder()/part-000012.csv.
  std::string part(std::size_t which, std::string_view suffix) const;
  /// Suffixes of the files of one chunk.
  std::vector<std::string> part_suffixes() const;
  /// The paths of the result.
  std::vector<std::string> files() const;
  std::string file(std::string_view suffix) const;

  /// The arrays of a result in NPY: the outputs, then the keys.
  ///
  /// Errors    setting_error if two of them have the same file name.
  std::vector<prediction_array> arrays() const;
  /// The first line of a CSV file.
  std::string header() const;
  /// "example 12", or "example 12 of rank 1": the example of a row in the order of examples.
  std::string example_of(std::int64_t row) const;
  /// The chunk that contains a row.
  std::size_t chunk_of(std::int64_t row) const;
};

/// Appends a field of a CSV file: in quotes if necessary (RFC 4180).
void append_csv_field(std::string& to, std::string_view field);

inline constexpr std::string_view csv_suffix = ".csv", key_run_suffix = ".sorted";

}  // namespace cohort::detail
