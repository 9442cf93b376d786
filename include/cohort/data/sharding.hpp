// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort {

/// Distribution of the examples over the ranks' data sets.
///
/// global    every rank's data set has all examples. Each rank trains on its part of every global batch.
/// local     every rank's data set has only that rank's examples, and the ranks' numbers of examples may
///           differ. Each rank reads its batches from its own data set, in its own order. After its last
///           example a rank contributes nothing until the epoch ends on all ranks, so means remain exact.
enum class sharding { global, local };

}  // namespace cohort
