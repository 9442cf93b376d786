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

/// Returns the count `name` of a checkpoint; `otherwise` if the checkpoint has no count of that name.
std::int64_t count_of(strategy_state const& from, std::string_view name, std::int64_t otherwise);

/// Checks an array of a checkpoint.
///
/// Errors    data_error if the elements are not f32 or f64, or if there are fewer than `least`.
void require_real(strategy_state::array const& one, std::size_t least = 0);

/// Returns a copy of an array's elements.
template <class T>
std::vector<T> values_of(strategy_state::array const& one) {
  std::vector<T> values(one.values.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), one.values.data(), values.size() * sizeof(T));
  return values;
}

/// to += factor·values; missing elements of `to` are 0.
template <class T>
void add_scaled(std::vector<T> const& values, double factor, std::vector<T>& to) {
  to.resize(std::max(to.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) to[i] += static_cast<T>(double{values[i]} * factor);
}

}  // namespace cohort::detail
