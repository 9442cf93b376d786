// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/weighted_sum.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// Completes the mean of running variances: that of all examples is the mean of the ranks' variances and the variance of
/// their means. Networks without running statistics exchange nothing here.
///
/// Shapes    `dense`: the mean of all ranks' parameters, canonical.
/// Order     collective.
/// Before    `mine` still has this rank's own, which weighs own.weight of `weight` together.
/// Exact     with one rank no bit changes.
inline void add_spread_of_means(communicator& world, replica const& mine, std::byte* dense,
                                weighted_sum::share const& own, std::int64_t expected, double weight) {
  auto const table = mine.parameters.table();
  std::size_t elements = 0;
  for (parameter const& p : table)
    if (p.spec.role == parameter_role::running_mean)
      elements += static_cast<std::size_t>(p.spec.dims.elements());
  if (elements == 0) return;
  element_type const type = mine.parameters.type();
  weighted_sum spread(type, elements, false);
  auto const visit = [&](auto merge) {
    auto const as = [&]<class T>(T*) {
      T* next = reinterpret_cast<T*>(spread.data());
      std::vector<T> before;
      for (std::size_t p = 0; p < table.size(); ++p) {
        if (table[p].spec.role != parameter_role::running_mean) continue;  // its variance stands behind it
        before.resize(static_cast<std::size_t>(table[p].spec.dims.elements()));
        mine.parameters.read(static_cast<int>(p), mine.parameters.master(),
                             reinterpret_cast<std::byte*>(before.data()));
        T const* const mean = reinterpret_cast<T const*>(dense) + table[p].first;
        T* const variance = reinterpret_cast<T*>(dense) + table[p + 1].first;
        for (std::size_t c = 0; c < before.size(); ++c, ++next)
          merge(before[c] - mean[c], variance[c], *next);
      }
    };
    with_real(type, as);
  };
  visit([](auto apart, auto&, auto& square) { square = apart * apart; });
  spread.start(world, own, expected, {});
  spread.wait();
  spread.settle(weight, expected);
  visit([](auto, auto& variance, auto& square) { variance += square; });
}

}  // namespace cohort::detail
