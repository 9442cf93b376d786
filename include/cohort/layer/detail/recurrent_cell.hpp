// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/recurrent_activation.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Cells of recurrent layers. `gru_before` and `gru_after`: the reset gate is applied before or after the
/// recurrent product.
enum class cell_kind : std::uint8_t { simple, lstm, gru_after, gru_before };

constexpr int gates_of(cell_kind kind) {
  switch (kind) {
    case cell_kind::simple:
      return 1;
    case cell_kind::lstm:
      return 4;
    default:
      return 3;
  }
}

/// Description of a recurrent layer, without the values of its parameters. The parameters are, in this order:
/// weights, recurrent weights and, if the layer has them, bias, recurrent bias and peepholes.
///
/// Shapes    C features, U units, G gates.
struct recurrent_cell {
  cell_kind kind = cell_kind::simple;
  recurrent_activation activation = recurrent_activation::tanh;
  recurrent_activation gate_activation = recurrent_activation::sigmoid;
  int features = 0;
  int units = 0;
  bool bias = true;
  bool recurrent_bias = false;
  bool peepholes = false;
  bool last_step = false;
  bool reverse = false;
  bool resets_masked = false;
  double dropout = 0;
  double recurrent_dropout = 0;
  bool has_initial_state = false;  ///< the state is read from tensors, or carried from batch to batch
  bool carries_state = false;
  bool returns_state = false;

  /// Number of tensors of a state: h, and for an lstm also c.
  constexpr int states() const { return kind == cell_kind::lstm ? 2 : 1; }
  constexpr std::size_t inputs() const { return static_cast<std::size_t>(features); }
  constexpr std::size_t width() const { return static_cast<std::size_t>(units); }
  /// G·U
  constexpr std::size_t columns() const { return static_cast<std::size_t>(gates_of(kind) * units); }
  // Indices of the optional parameters.
  static constexpr std::size_t bias_at = 2;
  constexpr std::size_t recurrent_bias_at() const { return bias ? 3 : 2; }
  constexpr std::size_t peepholes_at() const { return recurrent_bias_at() + (recurrent_bias ? 1 : 0); }
  constexpr bool is_gru() const { return kind == cell_kind::gru_after || kind == cell_kind::gru_before; }
};

}  // namespace cohort::detail
