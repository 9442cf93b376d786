// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/monitoring/detail/implementation.hpp>
#include <cohort/strategy/scaling_estimate.hpp>
#include <span>
#include <string>

namespace cohort {

/// Formats the estimates of estimate_scaling for the given numbers of ranks:
///
///     forecast for ranks with separate processors: 2.31 ms of compute a step, 271.1 kB exchanged,
///     0.052 ms a message, 11.8 MB/s
///       ranks  ms a step  samples/s  efficiency  Deeplearning4j
///           2      14.10       4539      16.4 %           4.8 %
///
/// The last column is the efficiency by Deeplearning4j's formula (deeplearning4j_costs), for comparison. The
/// formula assumes a parameter server, and depends on the number of ranks only if messages are decoded.
///
/// Units     `examples`: examples per rank and step.
std::string forecast(scaling_costs const& costs, double examples, std::span<int const> ranks);

}  // namespace cohort
