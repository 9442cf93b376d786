// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstddef>
#include <limits>
#include <string>

namespace cohort {

/// Settings of cache.
struct cache_settings {
  /// Limit on the bytes of all cached tensors. Examples that do not fit are read again in every epoch.
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  /// Folder of a temporary file for the examples, best on a local disk; "": memory of the process.
  std::string folder{};
};

/// Returns a data set that keeps examples after the first request, in memory or on a local disk. Use
/// it for data that is slow to read or to decode. A data set that is already in memory is returned unchanged.
///
/// Order     several threads may request examples. Copies share the cache.
/// Errors    memory_error if max_bytes is too small for one example, or if the memory is not available.
///           file_error if the folder does not exist, is not writable or has too little space. setting_error
///           if `data` is a stream.
/// Exact     every epoch gets the examples of epoch 0: apply random augmentation after cache, not before.
/// Cost      memory for all examples is reserved at once. Without a folder, a page is used when an example is
///           first stored in it. The temporary file has no name, so it is removed when the data set is
///           destroyed or the process ends, also by a signal. Each process has its own cache. In addition to
///           the tensors, each example needs memory of the process for 8 bytes, its weight and its key.
dataset cache(dataset const& data, cache_settings const& settings = {});

}  // namespace cohort
