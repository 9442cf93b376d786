// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/recurrent_cell.hpp>
#include <cohort/layer/dropout.hpp>
#include <cohort/layer/kind.hpp>

/// Rules that the recurrent layers share. L: one of them.
namespace cohort::detail {

/// The fields that all recurrent layers have.
template <class L>
constexpr recurrent_cell cell_of(L const& l, cell_kind kind, shape const& input) {
  return {.kind = kind,
          .activation = l.activation,
          .features = input[1],
          .units = l.units,
          .bias = l.bias,
          .last_step = l.last_step,
          .reverse = l.reverse,
          .resets_masked = l.resets_masked,
          .dropout = l.dropout,
          .recurrent_dropout = l.recurrent_dropout};
}

template <class L>
constexpr inference infer_recurrent(L const& l, std::span<shape const> inputs) {
  if (inputs[0].rank != 2)
    return {"a recurrent layer needs a sequence: an input of steps x features", {"input", inputs[0]}};
  if (l.units < 1) return {"a recurrent layer needs at least one unit", labelled_number("units", l.units)};
  if (!is_dropout_rate(l.dropout) || !is_dropout_rate(l.recurrent_dropout)) return {dropout_rate_sentence};
  return l.last_step ? shape{l.units.value} : shape{inputs[0][0], l.units.value};
}

/// Fans as in Keras: those of the matrices of all gates.
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

/// Products only.
constexpr double recurrent_flops(recurrent_cell const& cell, std::span<shape const> inputs) {
  return 2.0 * inputs[0][0] * static_cast<double>(cell.columns()) * (cell.features + cell.units);
}

}  // namespace cohort::detail
