// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstddef>
#include <limits>

namespace cohort {

/// Settings of cache.
struct cache_settings {
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();  ///< of all examples' tensors
};

/// Returns a data set that keeps every example in memory after the first request. Use it for data that is
/// slow to read or to decode. Memory for all examples is reserved at once; a page is used when an example is
/// first stored in it. A data set that is already in memory is returned unchanged.
///
/// Order     several threads may request examples. Copies share the memory.
/// Errors    memory_error if all examples need more than max_bytes (keys are not counted), or more than is
///           available. setting_error if `data` is a stream.
/// Exact     examples are those of epoch 0 in every epoch: apply random augmentation after cache, not before.
dataset cache(dataset const& data, cache_settings const& settings = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/cache.ipp>
#endif
