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

/// Takes the step.  Before: no kernel runs.
template <class T>
void follow_statistics(parameter_set& parameters, std::span<std::byte* const> parts) {
  auto const table = parameters.table();
  for (std::size_t p = 0; p + 1 < table.size(); ++p) {
    if (table[p].spec.role != parameter_role::running_mean || table[p].frozen) continue;
    parameter const &of_mean = table[p], &of_variance = table[p + 1];
    T* const mean = reinterpret_cast<T*>(parameters.master()) + of_mean.offset;
    T* const variance = reinterpret_cast<T*>(parameters.master()) + of_variance.offset;
    T const kept = static_cast<T>(of_mean.spec.kept);
    for (std::int64_t c = 0; c < of_mean.spec.dims.elements(); ++c) {
      T shift = 0, spread = 0;
      for (std::byte const* part : parts) {
        shift += (reinterpret_cast<T const*>(part) + of_mean.offset)[c];
        spread += (reinterpret_cast<T const*>(part) + of_variance.offset)[c];
      }
      mean[c] += (1 - kept) * shift;
      variance[c] = kept * variance[c] + (1 - kept) * (spread - shift * shift);
    }
  }
}

}  // namespace detail

}  // namespace cohort
