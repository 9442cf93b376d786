// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/detail/built_in_layers.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/layer/rms_norm.hpp>

namespace cohort {

namespace detail {

template <class... OnDemand, class... L>
constexpr std::array<kind const*, sizeof...(L) + sizeof...(OnDemand)> kinds_of(layer_list<L...>) {
  return {&kind_of<L>..., &kind_of<OnDemand>...};
}

}  // namespace detail

std::span<kind const* const> built_in_kinds() {
  static constexpr std::array kinds =
      detail::kinds_of<simple_rnn, lstm, gru, recurrent_output, attention, rms_norm, learned_positions,
                       sinusoidal_positions>(detail::built_in_layers());
  return kinds;
}

}  // namespace cohort
