// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/builder.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <concepts>

namespace cohort {

/// The outputs of a recurrent layer that returns its final state. Each member function appends a layer that
/// selects one of the outputs; gradients flow through all selected outputs.
///
/// Shapes    steps T×U, with the mask of the layer's input. state U: h after the last unmasked step, in the
///           layer's direction. cells U: c of an lstm after that step.
/// Errors    problem() reports steps() of a layer with `last_step`, and cells() of a layer that is not an
///           lstm.
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

/// Appends a recurrent layer that also returns its final state. `initial`: h of the initial state, and for an
/// lstm also c. Without `initial`, the initial state is zero. `join(lstm{…}, x, h, c)` reads an initial state
/// without returning the final one.
///
///     auto const encoder = with_state(lstm{.units = 64, .last_step = true}, source);
///     return join(lstm{.units = 64}, target, encoder.state(), encoder.cells()) | dense{.units = words} | …
///
/// Cost      steps() copies the outputs. With `last_step`, the layer's output contains only the final state.
template <layer L, std::same_as<tensor>... Initial>
requires requires(L l) { l.returns_state = true; }
constexpr recurrent_outputs with_state(L l, tensor x, Initial... initial) {
  l.returns_state = true;
  return {join(l, x, initial...), L::max_inputs - 1};
}

}  // namespace cohort
