// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/config.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/detail/built_in_layers.hpp>
#ifdef COHORT_CORE_COMPILED
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/layer/rms_norm.hpp>
#endif

namespace cohort {

namespace detail {

template <class... OnDemand, class... L>
constexpr std::array<kind const*, sizeof...(L) + sizeof...(OnDemand)> kinds_of(layer_list<L...>) {
  return {&kind_of<L>..., &kind_of<OnDemand>...};
}

}  // namespace detail

COHORT_CORE_INLINE std::span<kind const* const> built_in_kinds() {
#ifdef COHORT_CORE_COMPILED
  static constexpr std::array kinds =
      detail::kinds_of<simple_rnn, lstm, gru, recurrent_output, attention, rms_norm, learned_positions,
                       sinusoidal_positions>(detail::built_in_layers());
#else
  static constexpr std::array kinds = detail::kinds_of(detail::built_in_layers());
#endif
  return kinds;
}

}  // namespace cohort
