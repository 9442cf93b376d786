// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/sharding.hpp>
#include <cohort/interchange/detail/implementation.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// Format of the files of write_predictions.
///
/// csv  one file: a header, then one row per example: the example's key (or number, if there are no keys),
///      then all outputs. A number has the fewest digits from which the same float can be read back.
/// npy  one array per output, examples × shape of the output, f32, and one array of the keys: i64, or bytes
///      (`S`) in UTF-8.
enum class prediction_format : std::uint8_t { csv, npy };

/// Order of the rows in the files of write_predictions.
///
/// examples  the order of the data set; with sharding::local, of rank 0's data set, then of rank 1's, …
/// keys      ascending keys; two examples with the same key are an error.
enum class prediction_order : std::uint8_t { examples, keys };

/// Type of the keys in the files of write_predictions.
///
/// text     as in the data set; sorted by bytes.
/// integer  a decimal integer of 64 bits; sorted by value.
enum class key_type : std::uint8_t { text, integer };

/// Settings of write_predictions.
///
/// Units     `batch`: examples per mini-batch and rank. `chunk`: examples per part file. `readers`,
///           `sharding`: see fit_settings.
struct prediction_file_settings {
  /// Names of layers: heads, or inner layers (features). Empty: all outputs of the network.
  std::vector<std::string> outputs{};
  std::vector<std::string> names{};  ///< of `outputs` in the files; empty: the names of the layers
  prediction_format format = prediction_format::csv;
  prediction_order order = prediction_order::examples;
  key_type keys = key_type::text;
  /// Names of the classes, for the header of a CSV file. Used only if neither the model (its training data,
  /// or the kept table encoder) nor the data set has names. The model's names precede those of the data set.
  std::vector<std::string> class_names{};
  int batch = 256;
  std::int64_t chunk = 65'536;
  cohort::sharding sharding = cohort::sharding::global;
  int readers = 1;
  bool resume = true;  ///< keeps the part files of an interrupted run; false: removes them
  bool merge = true;   ///< false: the part files are the result, and are not merged
};

/// The result of write_predictions, the same on every rank.
struct prediction_file_report {
  std::int64_t examples = 0;         ///< number of all ranks' examples
  std::int64_t resumed = 0;          ///< number of these that an interrupted run had predicted
  std::vector<std::string> files{};  ///< paths of the files
};

}  // namespace cohort
