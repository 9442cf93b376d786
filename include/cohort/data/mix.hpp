// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <vector>

namespace cohort {

/// One of the data sets of a mixture, with its share of the examples.
struct mix_part {
  dataset data;
  double weight = 1;  ///< share of the examples, relative to the other parts; a positive number
};

/// Settings of mix.
struct mix_settings {
  std::int64_t size = 0;  ///< examples in an epoch; 0: the sum of the sizes of all parts
  /// Number of examples in the blocks of a part that are permuted as a whole, for a loader with
  /// loader_settings::blocks.
  std::int64_t block = 1;
  std::uint64_t seed = 0;  ///< seed of the order in which the examples of a part are drawn
};

/// Returns a data set whose epochs contain examples of several data sets, in proportion to their weights.
///
/// An epoch has size·weight/Σ weight examples of a part, rounded by the largest remainders. The examples of a
/// part are drawn without replacement, epoch after epoch: every example is drawn once before any example is
/// drawn again.
///
/// Order     the examples drawn from part 0 come first, then those from part 1, …, so the loader should
///           shuffle. The draws from a part are consecutive random permutations of the part. With `block`,
///           blocks of this many examples are permuted as a whole; the last examples, which fill no block,
///           are drawn last.
/// Errors    setting_error without parts, for a stream, an empty part, a weight that is not a positive
///           number, a size that is negative or above 2^53, or a block below 1. Otherwise as concat.
/// Exact     the examples of an epoch depend only on (parts, weights, settings, epoch), so a run can resume
///           at any position of any epoch, with any number of ranks.
dataset mix(std::vector<mix_part> parts, mix_settings const& settings = {});

}  // namespace cohort
