// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// A count of a checkpoint, or `otherwise` where it has none of that name.
inline std::int64_t count_of(strategy_state const& from, std::string_view name, std::int64_t otherwise) {
  for (strategy_state::count const& one : from.counts)
    if (one.name == name) return one.value;
  return otherwise;
}

/// Errors    data_error, if an array of a checkpoint is not of f32 or f64, or has fewer elements than it must.
inline void require_real(strategy_state::array const& one, std::size_t least = 0) {
  bool const real = one.type == element_type::f32 || one.type == element_type::f64;
  if (real && one.values.size() / bytes_of(one.type) >= least) return;
  throw data_error({.what = "cannot go on from what a strategy remembered",
                    .where = {"strategy/array/", one.name},
                    .expected = {"f32 or f64, at least ", least, " elements"},
                    .got = {one.values.size() / bytes_of(one.type), " of ", name_of(one.type)}});
}

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
