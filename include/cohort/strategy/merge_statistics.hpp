// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/batch_statistics.hpp>
#include <cohort/plan/replica.hpp>
#include <cstddef>
#include <span>

namespace cohort {

/// Merges the statistics of all ranks' batches, so that running statistics are computed from all examples.
/// Strategies that exchange gradients need this function, because buckets do not contain these statistics.
///
/// Shapes    C channels in L layers, the same on every rank.
/// Order     collective, in before_update.
/// After     on every rank, the first part of `mine` (batch_statistics::read) has the statistics of the
///           examples of all ranks. Returns the bytes that this rank passed to the allreduces.
/// Moves     two allreduces of f64, of C + L and of C elements; none with one rank or without running
///           statistics.
/// Exact     the same bits on every rank, computed in f64; variances are never negative.
std::size_t merge_statistics(communicator& world, batch_statistics& mine);

namespace detail {

/// Layout of a parameter set in memory: the dense canonical view, or an arena.
enum class parameters_in { dense, arena };

/// Merges the running statistics of all ranks. `weight`: weight of this rank's statistics, for example the
/// number of examples that have updated the statistics. Writes the mean of the means, and the mean of the
/// variances plus the variance of the means, to the running statistics in `to`. Changes nothing with one
/// rank, or if the total weight is 0. Order and moved bytes are those of merge_statistics.
void merge_running_statistics(communicator& world, replica const& mine, double weight, std::byte* to,
                              parameters_in how);

}  // namespace detail

}  // namespace cohort
