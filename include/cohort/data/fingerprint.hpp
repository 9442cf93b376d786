// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>

namespace cohort {

/// Returns a hash of a sample of the data set's examples, evenly spaced from the first to the last. Covers
/// inputs, targets, masks, weights and keys, as in a batch of epoch `epoch`. Equal data sets have equal
/// fingerprints.
///
/// Before    data.indexed().
/// Errors    the exceptions of the data set.
/// Cost      reads at most 16 examples.
std::uint64_t fingerprint(dataset const& data, std::int64_t epoch);

}  // namespace cohort
