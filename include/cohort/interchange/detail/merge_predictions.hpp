// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/detail/prediction_layout.hpp>
#include <functional>

namespace cohort::detail {

/// Combines the part files of all chunks into the files of the result, in the layout's order.
///
/// `progress`: called at least for each MB written.
///
/// Moves     memory: 64 KiB and a key for each of 64 files, 1 MB for each array, and 8 bytes for
///           each array and chunk.
/// Errors    file_error; data_error for a part file that is damaged, naming it, and for a key that two
///           examples have, naming both. The files of the result are then unchanged.
void merge_predictions(prediction_layout const& layout, std::function<void()> const& progress);

}  // namespace cohort::detail
