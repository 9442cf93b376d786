// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/config.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/detail/built_in_layers.hpp>

namespace cohort {

namespace detail {

template <class... L>
constexpr std::array<kind const*, sizeof...(L)> kinds_of(layer_list<L...>) {
  return {&kind_of<L>...};
}

}  // namespace detail

COHORT_CORE_INLINE std::span<kind const* const> built_in_kinds() {
  static constexpr std::array kinds = detail::kinds_of(detail::built_in_layers());
  return kinds;
}

}  // namespace cohort
