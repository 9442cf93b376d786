// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/replica.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Calls f(p, parameter) for the running statistics that training moves.
template <class F>
void each_statistic(parameter_set const& parameters, F f) {
  for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p)
    if (parameter const& one = parameters.table()[static_cast<std::size_t>(p)];
        !is_trained(one.spec.role) && !one.frozen)
      f(p, one);
}

bool has_statistics(parameter_set const& parameters);

/// The running statistics of all ranks' examples in the place of this rank's own.
///
/// Shapes    `dense`: all parameters, canonical; it holds this rank's own.
/// Order     collective.
/// Before    rank r has seen m_r examples since all had the same statistics.
/// After     the means' mean, and the variances' mean with the variance of the means, weighted by m_r; untouched where nobody has
///           seen any.
/// Moves     an allreduce of the statistics and 5 words, and one of the means.
void merge_statistics(communicator& world, replica const& mine, std::byte* dense, std::int64_t seen,
                      std::int64_t expected);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/statistics_mean.ipp>
#endif
