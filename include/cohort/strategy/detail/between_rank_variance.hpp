// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cstddef>

namespace cohort::detail {

/// How the parameters of a set stand in memory.
enum class parameters_in { dense, arena };

/// Completes the mean of running variances: that of all examples is the mean of the ranks' variances and the variance of
/// their means. Networks without running statistics exchange nothing here.
///
/// Shapes    `means`: the mean of all ranks' parameters.
/// Order     collective.
/// Before    `mine` still has this rank's own, which weighs own.weight of `weight` together.
/// Exact     with one rank no bit changes.
void add_between_rank_variance(communicator& world, replica const& mine, std::byte* means, parameters_in how,
                               weighted_sum::contribution const& own, std::int64_t expected, double weight);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/between_rank_variance.ipp>
#endif
