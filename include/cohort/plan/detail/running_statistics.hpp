// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <span>

namespace cohort {

/// Running statistics m, v of a normalising layer are exchanged like gradients. So the sums of gradients over
/// workers and ranks also merge the statistics. For a part of the batch with mean b and biased variance s,
/// the layer writes the following gradients. a is the divisor of the part's mean loss (loss_divisor; by
/// default its number of examples), divided by the divisor of the rank's mean loss:
///
///     gradient of running_mean       a·(b − m)
///     gradient of running_variance   a·(s + (b − m)²)
///
/// D and S are their sums over all parts. The whole batch has mean m + D and variance S − D²: the mean of the
/// variances plus the variance of the means. With momentum k, an update sets m to k·m + (1 − k)·(m + D) and v
/// to k·v + (1 − k)·(S − D²).
///
/// Order     a layer lists its running_mean directly before the running_variance of the same shape.
/// Exact     the sums are centred at m, which is close to every b, so there is no cancellation.
namespace detail {

/// Updates the running statistics among the parameters of `which`.  Before: no kernel that uses them is
/// running.
void follow_statistics(parameter_set& parameters, std::span<std::byte* const> parts,
                       parameter_range const& which = {});

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/running_statistics.ipp>
#endif
