// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// A count of a checkpoint, or `otherwise` where it has none of that name.
std::int64_t count_of(strategy_state const& from, std::string_view name, std::int64_t otherwise);

/// Errors    data_error, if an array of a checkpoint is not of f32 or f64, or has fewer elements than it must.
void require_real(strategy_state::array const& one, std::size_t least = 0);

template <class T>
std::vector<T> values_of(strategy_state::array const& one) {
  std::vector<T> values(one.values.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), one.values.data(), values.size() * sizeof(T));
  return values;
}

/// to += share·values; what `to` has not yet is 0.
template <class T>
void add_share(std::vector<T> const& values, double share, std::vector<T>& to) {
  to.resize(std::max(to.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) to[i] += static_cast<T>(double{values[i]} * share);
}

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/saved_values.ipp>
#endif
