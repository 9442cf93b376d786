// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>

namespace cohort {

/// Returns crops of long sequences in an order in which each row of a batch continues the same row of the
/// batch before: for layers with `stateful`, truncated backpropagation through time. Example i of `crops`
/// must continue example i − 1 (token_crops; windows with a stride equal to their length).
///
/// Shapes    n crops are divided into `rows` streams of K = n / rows consecutive crops; n − rows·K crops at
///           the end are left out. Example i is crop i / rows of stream i % rows.
/// Units     `rows`: batch × ranks; with sharding::local, batch. fit then needs `.shuffle = false`.
/// Errors    setting_error if there are fewer crops than rows, or if `crops` is a stream.
dataset continued_crops(dataset const& crops, int rows);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/continued_crops.ipp>
#endif
