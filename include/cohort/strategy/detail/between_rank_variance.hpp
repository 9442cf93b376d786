// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cstddef>

namespace cohort::detail {

/// Layout of a parameter set in memory: the dense canonical view, or an arena.
enum class parameters_in { dense, arena };

/// Completes the mean of running variances: adds the variance of the ranks' means to the mean of the ranks'
/// variances, which gives the variance over all examples. Does nothing for networks without running
/// statistics.
///
/// Shapes    `means`: the mean of all ranks' parameters, in the layout `how`.
/// Order     collective.
/// Before    `mine` still has this rank's parameters, with the weight own.weight out of the total `weight`.
/// Exact     with one rank no bit changes.
void add_between_rank_variance(communicator& world, replica const& mine, std::byte* means, parameters_in how,
                               weighted_sum::contribution const& own, std::int64_t expected, double weight);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/between_rank_variance.ipp>
#endif
