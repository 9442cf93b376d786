// SPDX-License-Identifier: Apache-2.0
#pragma once
// The weights of the examples of a run document.
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace cohort::detail {

/// Returns a data set in which each example has a weight. If `data` has weights, the weights are multiplied.
/// `weight_of` returns the weight of an example, and may throw data_error.
///
/// Before    `weight_of` is safe to call from several threads.
/// Errors    get: those of `weight_of`.
dataset with_weights(dataset const& data, std::function<float(std::int64_t i)> weight_of);

/// Returns a weight.
///
/// Errors    data_error at `where` unless it is a finite number of at least 0.
float checked_weight(double weight, std::string const& where);

}  // namespace cohort::detail
