// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <span>

namespace cohort {

/// Running statistics m, v of a normalising layer travel as gradients do, so that workers and ranks merge them by the sum
/// that they make anyway. What the layer writes for a part of the batch with mean b and biased variance s, weighing
/// a = weights of the part / weights of the rank's batch:
///
///     gradient of running_mean       a·(b − m)
///     gradient of running_variance   a·(s + (b − m)²)
///
/// With D and S, their sums over all parts: the whole batch has mean m + D and variance S − D², the mean of the variances and
/// the variance of the means. A step then leaves kept·m + (1 − kept)·(m + D) and kept·v + (1 − kept)·(S − D²).
///
/// Order     a layer lists its running_mean directly before the running_variance of the same shape.
/// Exact     the sums are taken around m, which is near every b: nothing cancels.
namespace detail {

/// Takes the step of those among some parameters.  Before: no kernel runs that uses them.
void follow_statistics(parameter_set& parameters, std::span<std::byte* const> parts,
                       parameter_range const& which = {});

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/running_statistics.ipp>
#endif
