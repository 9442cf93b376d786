// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/detail/prediction_layout.hpp>
#include <functional>

namespace cohort::detail {

/// Combines the part files of all chunks into the files of the result, sorted by `layout.order`.
///
/// `progress`: called at least once for each MB written.
///
/// Errors    file_error; data_error that names the part file if it is damaged, or both examples if two
///           examples have the same key. After an error, the files of the result are unchanged.
/// Cost      memory for 64 KiB and a key for each of 64 files, 1 MB for each array, and 8 bytes for each
///           array and chunk.
void merge_predictions(prediction_layout const& layout, std::function<void()> const& progress);

}  // namespace cohort::detail
