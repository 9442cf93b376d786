// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/builder.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <concepts>

namespace cohort {

/// The outputs of a recurrent layer that returns its final state. A member adds a layer that reads one of
/// them; gradients flow through all that are used.
///
/// Shapes    steps T×U, with the mask of the layer's input; state U: h after the last step that exists, in
///           the layer's direction; cells U: c of an lstm.
/// Errors    steps of a layer with `last_step`, and cells of another layer than an lstm, are mistakes.
class recurrent_outputs {
 public:
  constexpr recurrent_outputs(tensor all, int states) : all_(all), states_(states) {}

  constexpr tensor steps(source_line at = source_line::here()) const {
    return part(recurrent_part::steps, at);
  }
  constexpr tensor state(source_line at = source_line::here()) const {
    return part(recurrent_part::state, at);
  }
  constexpr tensor cells(source_line at = source_line::here()) const {
    return part(recurrent_part::cells, at);
  }

 private:
  constexpr tensor part(recurrent_part which, source_line at) const {
    return all_ | recurrent_output{.states = states_, .part = which, .at = at};
  }

  tensor all_;
  int states_;
};

/// Appends a recurrent layer that also returns its final state. `initial`: its initial state, h, and c of an
/// lstm; without it, zeros. `join(lstm{…}, x, h, c)` only reads an initial state.
///
///     auto const encoder = with_state(lstm{.units = 64, .last_step = true}, source);
///     return join(lstm{.units = 64}, target, encoder.state(), encoder.cells()) | dense{.units = words} | …
///
/// Cost      steps() copies the outputs; a layer with `last_step` keeps only its state.
template <layer L, std::same_as<tensor>... Initial>
requires requires(L l) { l.returns_state = true; }
constexpr recurrent_outputs with_state(L l, tensor x, Initial... initial) {
  l.returns_state = true;
  return {join(l, x, initial...), L::max_inputs - 1};
}

}  // namespace cohort
