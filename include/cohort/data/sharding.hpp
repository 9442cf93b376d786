// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort {

/// Which examples the data set of a rank holds.
///
/// global    all examples, the same on every rank: each rank trains on its part of every global batch.
/// local     this rank's own examples, any number of them: each rank takes its batches from its own data set, in an order of its
///           own. A rank whose examples are used up contributes nothing until the epoch ends on all ranks, so means stay exact.
enum class sharding { global, local };

}  // namespace cohort
