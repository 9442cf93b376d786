// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Rescaling of the features of a part (feature_axis). none: unchanged. standardise: to mean 0 and standard
/// deviation 1 (of the population). min_max: the smallest value becomes 0, and the largest 1. A feature whose
/// values are all equal becomes 0.
enum class rescaling : std::uint8_t { none, standardise, min_max };

/// How a normalisation rescales inputs and targets. Class labels and indices are never rescaled;
/// `training::normalise` also skips targets of losses that accept only values in an interval, such as
/// probabilities.
struct normalisation_settings {
  rescaling inputs = rescaling::standardise;
  rescaling targets = rescaling::none;
};

/// The fitted maps of all inputs and targets, in their order. A part has one map per channel of an image or a
/// sequence, or per column of a row; a scalar has one map; a part that is not rescaled has none.
/// `inputs` (or `targets`) is empty if no input (target) is rescaled. The fit ignores padding of sequences.
struct normalisation {
  std::vector<std::vector<channel_scaling>> inputs{};
  std::vector<std::vector<channel_scaling>> targets{};

  bool empty() const { return inputs.empty() && targets.empty(); }
  bool operator==(normalisation const&) const = default;

  /// Write the maps as one line of JSON, and read them.  Errors: data_error with `where`, line and column.
  /// Exact: the same bits after reading.
  std::string to_json() const;
  static normalisation from_json(std::string_view text, std::string const& where);
};

/// Returns a view of a data set whose parts are rescaled when a batch is made. The cost is one multiplication
/// and one addition per element, including the part's own scale and offset. The stored elements do not
/// change.
///
/// Errors    shape_error if the number of parts or channels differs.
dataset normalised(dataset const& data, normalisation const& how);

}  // namespace cohort
