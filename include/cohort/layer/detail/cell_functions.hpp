// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/layer/detail/recurrent_cell.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// One step of a cell on `rows` examples and the units [begin, end).
///
/// Shapes    U = units, G = gates, in the order of the parameters (lstm i f c o, gru z r n). T: type of the
///           arithmetic; E: type of stored elements. Row-major. `gates`: rows × G·U; `sums`: rows × G·U,
///           recurrent products of the gates (null: zero); `before`, `read`, `other`, `cells`, …: rows × U.
/// Order     forward replaces the input products in `gates` with the gates. It writes the state to `after`
///           (the first `rows_after` rows) and to `output` (row j to row outputs[j], unless outputs[j] is
///           negative). backward replaces the gates with the gradients of their input products, and
///           gru_after's `other` with its gradient.
/// `restarts`, `restarts_after`   per row: not 0 if a masked step has set the state before this step
///                                (`restarts`) or before the next one (`restarts_after`) to zero; null: no
///                                such row
/// `read`    the state that the recurrent products read: `before`, or a copy with dropout applied
/// `other`   gru_after: the candidate's recurrent product plus its bias; gru_before: r ∘ read
template <class T, class E>
struct cell_step {
  recurrent_activation activation{};
  recurrent_activation gate_activation{};
  std::size_t rows = 0;
  std::size_t units = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  E* gates = nullptr;
  T const* sums = nullptr;
  T const* bias = nullptr;            ///< G·U; null: none
  T const* recurrent_bias = nullptr;  ///< G·U, gru_after; null: none
  T const* peepholes = nullptr;       ///< i f o, 3·U, lstm; null: none
  E const* before = nullptr;
  E const* read = nullptr;
  E* other = nullptr;
  T* cells = nullptr;               ///< lstm
  T const* cells_before = nullptr;  ///< null: zero
  std::uint8_t const* restarts = nullptr;
  std::size_t rows_after = 0;
  std::uint8_t const* restarts_after = nullptr;
  int const* outputs = nullptr;

  // forward
  E* after = nullptr;
  E* output = nullptr;

  // backward: gradients from the next step, for `rows_after` rows without a restart
  T const* diff_read_after = nullptr;   ///< gradient of `read`
  T const* diff_reset_after = nullptr;  ///< gru_before: additional gradient of `read`
  T* diff_direct = nullptr;             ///< gru: gradient of `before`, except through `read`; overwritten
  T* diff_cells = nullptr;              ///< lstm: gradient of `cells`; overwritten with that of cells_before
  E const* diff_output = nullptr;       ///< rows as in `output`
  int const* repeats = nullptr;         ///< per row: number of further rows of diff_output to add
  std::ptrdiff_t repeat_stride = 0;     ///< elements between these rows
  E* diff_sums = nullptr;               ///< gru: gradients of `sums`, rows × G·U
  T* diff_bias = nullptr;               ///< G·U, accumulated
  T* diff_recurrent_bias = nullptr;     ///< G·U, accumulated
  T* diff_reset = nullptr;              ///< gru_before: gradient of `other`, then of `read` through `other`
};

/// Functions that run a cell's step. gru_before has two phases in each pass: `reset` computes `other`, and
/// `forward` runs after the recurrent product of `other`; `backward_reset` runs after the product that
/// computes diff_reset.
template <class T, class E>
struct cell_functions {
  using function = void (*)(cell_step<T, E> const&);
  function forward = nullptr;
  function backward = nullptr;
  function reset = nullptr;
  function backward_reset = nullptr;
};

/// Plain loops, for float and double.
template <class T>
cell_functions<T, T> plain_cell_functions(cell_kind kind);
template <>
cell_functions<float, float> plain_cell_functions<float>(cell_kind kind);
template <>
cell_functions<double, double> plain_cell_functions<double>(cell_kind kind);

}  // namespace cohort::detail
