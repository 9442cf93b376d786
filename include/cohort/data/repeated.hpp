// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>

namespace cohort {

/// Returns a data set that repeats `data` without end, in epochs of `count` examples. With it, an epoch is a
/// number of steps in place of one pass over the data.
///
/// Order     example i of epoch e is example k mod N of the N examples of `data`, k = e·count + i. It is
///           requested for epoch k / N, the number of complete passes, so that an augmentation differs from
///           pass to pass. Train with `.shuffle = false`: otherwise the order is random within each
///           epoch.
/// Errors    setting_error if `count` is below 1, or if `data` is a stream or has no examples.
dataset repeated(dataset const& data, std::int64_t count);

}  // namespace cohort
