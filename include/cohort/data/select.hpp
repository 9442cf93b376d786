// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <vector>

namespace cohort {

/// Returns the examples `indices` of a data set, in this order, without copies. An index may repeat.
///
/// Errors    setting_error for an index out of range, with its position, or if `data` is a stream.
dataset select(dataset const& data, std::vector<std::int64_t> indices);

/// Returns the examples first, first + 1, …, first + count − 1.
///
/// Errors    setting_error if the range exceeds the data set, or if `data` is a stream.
dataset select(dataset const& data, std::int64_t first, std::int64_t count);

/// Returns all examples in a random order. Loaders shuffle each epoch themselves: use this for a fixed order,
/// for example before selecting the first examples.
///
/// Errors    setting_error if `data` is a stream.
/// Exact     the order depends only on (seed, data.size()).
dataset shuffled(dataset const& data, std::uint64_t seed);

}  // namespace cohort
