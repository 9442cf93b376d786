// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>

namespace cohort {

/// Returns crops of long sequences in an order for `stateful` layers (truncated backpropagation through
/// time): each row of a batch continues the same row of the previous batch. Example i of `crops` must
/// continue example i − 1 (token_crops; windows with a stride equal to their length).
///
/// Shapes    n crops are divided into `rows` streams of K = n / rows consecutive crops; the last n − rows·K
///           crops are omitted. Example i is crop i / rows of stream i % rows.
/// Units     `rows` is the number of examples of a global batch: batch × ranks; with sharding::local, batch.
///           fit needs `.shuffle = false`.
/// Errors    setting_error if there are fewer crops than rows, or if `crops` is a stream.
dataset continued_crops(dataset const& crops, int rows);

}  // namespace cohort
