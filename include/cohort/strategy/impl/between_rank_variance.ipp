// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/between_rank_variance.hpp>
#include <vector>

namespace cohort::detail {

COHORT_CORE_INLINE void add_between_rank_variance(communicator& world, replica const& mine, std::byte* means,
                                                  parameters_in how, weighted_sum::contribution const& own,
                                                  std::int64_t expected, double weight) {
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
      std::vector<T> before, mean, variance;
      auto const bytes = [](std::vector<T>& of) { return reinterpret_cast<std::byte*>(of.data()); };
      auto const read = [&](std::size_t p, std::vector<T>& to) {
        if (how == parameters_in::dense)
          std::copy_n(reinterpret_cast<T const*>(means) + table[p].first, to.size(), to.data());
        else
          mine.parameters.read(static_cast<int>(p), means, bytes(to));
      };
      for (std::size_t p = 0; p < table.size(); ++p) {
        if (table[p].spec.role != parameter_role::running_mean)
          continue;  // its running variance is the next parameter
        for (std::vector<T>* const one : {&before, &mean, &variance})
          one->resize(static_cast<std::size_t>(table[p].spec.dims.elements()));
        mine.parameters.read(static_cast<int>(p), mine.parameters.master(), bytes(before));
        read(p, mean);
        read(p + 1, variance);
        for (std::size_t c = 0; c < before.size(); ++c, ++next)
          merge(before[c] - mean[c], variance[c], *next);
        if (how == parameters_in::dense)
          std::copy_n(variance.data(), variance.size(), reinterpret_cast<T*>(means) + table[p + 1].first);
        else
          mine.parameters.write(static_cast<int>(p + 1), bytes(variance), means);
      }
    };
    with_real(type, as);
  };
  visit([](auto apart, auto&, auto& square) { square = apart * apart; });
  spread.start(world, own, expected, {});
  spread.wait();
  spread.make_mean(weight, expected);
  visit([](auto, auto& variance, auto& square) { variance += square; });
}

}  // namespace cohort::detail
