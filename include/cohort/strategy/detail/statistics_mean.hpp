// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/detail/between_rank_variance.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cohort::detail {

/// Calls f(p, parameter) for the running statistics that training moves.
template <class F>
void each_statistic(parameter_set const& parameters, F f) {
  for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p)
    if (parameter const& one = parameters.table()[static_cast<std::size_t>(p)];
        !is_trained(one.spec.role) && !one.frozen)
      f(p, one);
}

inline bool has_statistics(parameter_set const& parameters) {
  bool any = false;
  each_statistic(parameters, [&](int, parameter const&) { any = true; });
  return any;
}

/// The running statistics of all ranks' examples in the place of this rank's own.
///
/// Shapes    `dense`: all parameters, canonical; it holds this rank's own.
/// Order     collective.
/// Before    rank r has seen m_r examples since all had the same statistics.
/// After     the means' mean, and the variances' mean with the variance of the means, weighted by m_r; untouched where nobody has
///           seen any.
/// Moves     an allreduce of the statistics and 5 words, and one of the means.
inline void merge_statistics(communicator& world, replica const& mine, std::byte* dense, std::int64_t seen,
                             std::int64_t expected) {
  parameter_set const& parameters = mine.parameters;
  std::size_t const width = bytes_of(parameters.type());
  std::size_t elements = 0;
  each_statistic(parameters, [&](int, parameter const& one) {
    elements += static_cast<std::size_t>(one.spec.dims.elements());
  });
  weighted_sum sum(parameters.type(), elements, true);
  auto const each = [&](auto copy) {
    std::byte* at = sum.data();
    each_statistic(parameters, [&](int, parameter const& one) {
      std::size_t const bytes = static_cast<std::size_t>(one.spec.dims.elements()) * width;
      copy(at, dense + static_cast<std::size_t>(one.first) * width, bytes);
      at += bytes;
    });
  };
  each([](std::byte* packed, std::byte* own, std::size_t bytes) { std::memcpy(packed, own, bytes); });
  weighted_sum::share const own{seen, static_cast<double>(seen)};
  sum.start(world, own, expected, {});
  sum.wait();
  double const weight = sum.voted(0).weight;
  if (weight == 0) return;
  sum.settle(weight, expected);
  each([](std::byte* packed, std::byte* to, std::size_t bytes) { std::memcpy(to, packed, bytes); });
  add_between_rank_variance(world, mine, dense, parameters_in::dense, own, expected, weight);
}

}  // namespace cohort::detail
