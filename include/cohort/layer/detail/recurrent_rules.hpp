// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/recurrent_cell.hpp>
#include <cohort/layer/dropout.hpp>
#include <cohort/layer/kind.hpp>

/// Rules that all recurrent layers share. L: the type of a recurrent layer.
namespace cohort::detail {

/// Returns a cell with the fields that all recurrent layers have. The caller sets the other fields.
template <class L>
constexpr recurrent_cell cell_of(L const& l, cell_kind kind, std::span<shape const> inputs) {
  return {.kind = kind,
          .activation = l.activation,
          .features = inputs[0][1],
          .units = l.units,
          .bias = l.bias,
          .last_step = l.last_step,
          .reverse = l.reverse,
          .resets_masked = l.resets_masked,
          .dropout = l.dropout,
          .recurrent_dropout = l.recurrent_dropout,
          .has_initial_state = inputs.size() > 1 || l.stateful,
          .carries_state = l.stateful,
          .returns_state = l.returns_state};
}

template <class L>
constexpr inference infer_recurrent(L const& l, std::span<shape const> inputs) {
  if (inputs[0].rank != 2)
    return {"a recurrent layer needs a sequence: an input of steps x features", {"input", inputs[0]}};
  if (l.units < 1) return {"a recurrent layer needs at least one unit", labelled_number("units", l.units)};
  if (!is_dropout_rate(l.dropout) || !is_dropout_rate(l.recurrent_dropout)) return {dropout_rate_sentence};
  if (inputs.size() > 1 && static_cast<int>(inputs.size()) != L::max_inputs)
    return {"the initial state of an lstm must be two tensors: its state h and its cells c",
            {"input", inputs[0]},
            {"state", inputs[1]}};
  for (shape const& state : inputs.subspan(1))
    if (!(state == shape{l.units.value}))
      return {"the initial state of a recurrent layer must have one element for each unit",
              {"state", state},
              labelled_number("units", l.units)};
  if (l.resets_masked && (l.returns_state || l.stateful || inputs.size() > 1))
    return {"a layer with resets_masked cannot read an initial state, return its state or be stateful",
            {"input", inputs[0]}};
  if (l.stateful && inputs.size() > 1)
    return {"a stateful layer carries its state from batch to batch: it cannot read an initial state",
            {"input", inputs[0]}};
  if (l.stateful && l.reverse)
    return {"a stateful layer cannot run in reverse: it carries its state from batch to batch",
            {"input", inputs[0]}};
  int const states = l.returns_state ? L::max_inputs - 1 : 0;
  if (l.last_step) return l.returns_state ? shape{states, l.units.value} : shape{l.units.value};
  return shape{inputs[0][0] + states, l.units.value};
}

/// With `last_step`, the output has no mask; otherwise the output's steps have the input's mask.
template <class L>
constexpr mask_rule recurrent_masks(L const& l) {
  if (l.last_step) return mask_use::ends;
  mask_rule rule = mask_use::passes;
  if (l.returns_state) rule.state_rows = L::max_inputs - 1;
  return rule;
}

/// Returns the parameters. Fan-in and fan-out refer to the matrices of all gates together, as in Keras.
constexpr parameter_list recurrent_parameters(recurrent_cell const& cell) {
  int const columns = static_cast<int>(cell.columns());
  parameter_list list;
  list.add({"weights", {columns, cell.features}, parameter_role::weights, cell.features, columns});
  list.add({.name = "recurrent_weights",
            .dims = {columns, cell.units},
            .role = parameter_role::weights,
            .fan_in = cell.units,
            .fan_out = columns,
            .initial = init::orthogonal{},
            .recurrent = true});
  if (cell.bias) list.add({"bias", {columns}, parameter_role::biases, cell.features, columns});
  if (cell.recurrent_bias)
    list.add({"recurrent_bias", {columns}, parameter_role::biases, cell.units, columns});
  if (cell.peepholes)
    list.add({"peepholes", {3 * cell.units}, parameter_role::weights, cell.units, cell.units});
  return list;
}

/// Returns the operations of the matrix products of an example's forward pass.
constexpr double recurrent_flops(recurrent_cell const& cell, std::span<shape const> inputs) {
  return 2.0 * inputs[0][0] * static_cast<double>(cell.columns()) * (cell.features + cell.units);
}

}  // namespace cohort::detail
