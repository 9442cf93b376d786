// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/recurrent_core.hpp>
#include <cohort/tensor/bf16.hpp>
#include <type_traits>

namespace cohort::detail {

/// Converts a stored element to the type of the arithmetic.
template <class T, class E>
T widened(E x) {
  if constexpr (std::is_same_v<E, bf16>)
    return x.value();
  else
    return x;
}

/// Rounds a value to the type of stored elements.
template <class E, class T>
E rounded(T x) {
  if constexpr (std::is_same_v<E, bf16>)
    return bf16::nearest(x);
  else
    return x;
}

template <class T>
T* placed(std::byte*& at, std::size_t elements) {
  T* const here = elements > 0 ? reinterpret_cast<T*>(at) : nullptr;
  at += elements * sizeof(T);
  return here;
}

template <class T, class E>
void recurrent_memory<T, E>::place_saved(recurrent_sizes const& sizes, std::byte* at) {
  cells = placed<T>(at, sizes.cells);
  first_cells = placed<T>(at, sizes.first_cells);
  x = placed<E>(at, sizes.x);
  gates = placed<E>(at, sizes.gates);
  before = placed<E>(at, sizes.before);
  read = placed<E>(at, sizes.read);
  other = placed<E>(at, sizes.other);
}

template <class T, class E>
void recurrent_memory<T, E>::place_forward_scratch(recurrent_sizes const& sizes, std::byte* at) {
  sums = placed<T>(at, sizes.sums);
  kept = placed<T>(at, sizes.kept);
}

template <class T, class E>
void recurrent_memory<T, E>::place_backward_scratch(recurrent_sizes const& sizes, std::byte* at) {
  diff_read = placed<T>(at, sizes.diff_read);
  diff_direct = placed<T>(at, sizes.diff_direct);
  diff_cells = placed<T>(at, sizes.diff_cells);
  diff_reset = placed<T>(at, sizes.diff_reset);
  kept = placed<T>(at, sizes.kept);
  diff_sums = placed<E>(at, sizes.diff_sums);
}

template <class T, class E>
T recurrent_core<T, E>::initial_state(int example, std::size_t u) const {
  auto const n = static_cast<std::size_t>(example);
  std::size_t const width = cell_.width();
  if (a_.carried) return a_.carried[n * state_width() + u];
  E const* const from = u < width ? a_.state : a_.cells;
  return from ? widened<T>(from[n * width + u % width]) : T(0);
}

/// Writes the states before the first step of each sequence.
template <class T, class E>
void recurrent_core<T, E>::pack_initial_state() const {
  std::size_t const width = cell_.width();
  std::fill_n(m_.before, first(1) * width, E{});
  if (!cell_.has_initial_state) return;
  for (std::size_t j = 0; j < live(0); ++j)
    for (std::size_t u = 0; u < width; ++u) {
      int const example = order_.examples()[j];
      m_.before[j * width + u] = rounded<E>(initial_state(example, u));
      if (is_lstm()) m_.first_cells[j * width + u] = initial_state(example, width + u);
    }
}

/// Writes the final state of each sequence: to the output, after the rows of the steps, and to the states
/// carried to the next batch. The final state of a sequence without steps is its initial state.
template <class T, class E>
void recurrent_core<T, E>::write_final_state() const {
  std::size_t const width = cell_.width();
  for (int j = 0; j < a_.batch; ++j) {
    int const example = order_.examples()[static_cast<std::size_t>(j)];
    int const steps = order_.steps_of(example);
    std::size_t const last = steps > 0 ? first(steps - 1) + static_cast<std::size_t>(j) : 0;
    E const* h = nullptr;
    if (steps > 0) h = a_.y + static_cast<std::size_t>(order_.outputs()[last]) * width;
    E* const output = cell_.returns_state ? a_.y + state_offset(example) : nullptr;
    T* const carried =
        a_.carried_after ? a_.carried_after + static_cast<std::size_t>(example) * state_width() : nullptr;
    for (std::size_t u = 0; u < state_width(); ++u) {
      T const state = steps == 0  ? initial_state(example, u)
                      : u < width ? widened<T>(h[u])
                                  : m_.cells[last * width + u - width];
      if (output) output[u] = rounded<E>(state);
      if (carried) carried[u] = state;
    }
  }
}

/// For sequences whose last step is k: writes the gradients of their final states to the arrays where step k
/// reads the next step's gradients.
template <class T, class E>
void recurrent_core<T, E>::begin_state_gradient(cell_step<T, E>& now, int k) const {
  std::size_t const width = cell_.width();
  now.rows_after = live(k);
  now.restarts_after = nullptr;
  for (std::size_t j = live(k + 1); j < live(k); ++j) {
    E const* const from = a_.diff_y + state_offset(order_.examples()[j]);
    for (T* const zero : {m_.diff_direct, m_.diff_reset})
      if (zero) std::fill_n(zero + j * width, width, T(0));
    // With last_step, h is an output row of this step.
    for (std::size_t u = 0; u < width; ++u)
      m_.diff_read[j * width + u] = cell_.last_step ? T(0) : widened<T>(from[u]);
    for (std::size_t u = 0; is_lstm() && u < width; ++u)
      m_.diff_cells[j * width + u] = widened<T>(from[width + u]);
  }
}

/// Writes the gradients of the initial states. For a sequence without steps, the final state is the initial
/// state, so its gradient is copied.
template <class T, class E>
void recurrent_core<T, E>::write_state_gradient() const {
  std::size_t const width = cell_.width();
  for (std::size_t j = 0; j < static_cast<std::size_t>(a_.batch); ++j) {
    int const example = order_.examples()[j];
    std::size_t const to = static_cast<std::size_t>(example) * width;
    bool const has_steps = j < live(0), passes = cell_.returns_state || cell_.last_step;
    E const* const from = a_.diff_y + state_offset(example);
    for (std::size_t u = 0; u < width; ++u) {
      std::size_t const at = j * width + u;
      T h = 0, c = 0;
      if (has_steps) {
        h = m_.diff_read[at];
        for (T const* const more : {m_.diff_direct, m_.diff_reset})
          if (more) h += more[at];
        if (is_lstm()) c = m_.diff_cells[at];
      } else if (passes) {
        h = widened<T>(from[u]);
        if (cell_.returns_state && is_lstm()) c = widened<T>(from[width + u]);
      }
      if (a_.diff_state) a_.diff_state[to + u] = rounded<E>(h);
      if (a_.diff_cells) a_.diff_cells[to + u] = rounded<E>(c);
    }
  }
}

template <class T, class E>
void recurrent_core<T, E>::pack_inputs() const {
  std::size_t const width = cell_.inputs();
  for (std::size_t r = 0; r < rows(); ++r) {
    E* const to = m_.x + r * width;
    int const from = order_.inputs()[r];
    if (from < 0) {
      std::fill_n(to, width, E{});
      continue;
    }
    E const* const x = a_.x + static_cast<std::size_t>(from) * width;
    if (!a_.drops || cell_.dropout == 0) {
      std::copy_n(x, width, to);
      continue;
    }
    T const* const kept = kept_inputs(from / a_.length);
    for (std::size_t i = 0; i < width; ++i) to[i] = rounded<E>(widened<T>(x[i]) * kept[i]);
  }
}

/// Zeroes the rows of an array that no step writes.
template <class T, class E>
void recurrent_core<T, E>::clear_padding(E* array, std::size_t width) const {
  if (!array) return;
  for (int k = 0; k < order_.steps(); ++k)
    std::fill(array + (first(k) + live(k)) * width, array + first(k + 1) * width, E{});
  std::fill(array + first(order_.steps()) * width, array + rows() * width, E{});
}

/// Applies recurrent dropout to the states before step k; writes the result to `read_`.
template <class T, class E>
void recurrent_core<T, E>::drop_state(int k) const {
  std::size_t const width = cell_.width();
  for (std::size_t j = 0; j < live(k); ++j) {
    std::size_t const at = (first(k) + j) * width;
    T const* const kept = kept_state(j);
    for (std::size_t u = 0; u < width; ++u)
      read_[at + u] = drops_state() ? rounded<E>(widened<T>(m_.before[at + u]) * kept[u]) : m_.before[at + u];
  }
}

template <class T, class E>
void recurrent_core<T, E>::scale_by_kept(T* rows, std::size_t count) const {
  std::size_t const width = cell_.width();
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t u = 0; u < width; ++u) rows[j * width + u] *= kept_state(j)[u];
}

/// Writes the outputs of masked steps: the previous output, or zeros. With last_step, writes the initial
/// state of sequences without unmasked steps.
template <class T, class E>
void recurrent_core<T, E>::fill_masked_outputs() const {
  if (!a_.mask) return;
  std::size_t const width = cell_.width();
  for (int n = 0; n < a_.batch; ++n) {
    if (cell_.last_step) {
      auto const example = static_cast<std::size_t>(n);
      E* const y = a_.y + example * output_rows() * width;
      if (order_.steps_of(n) > 0) continue;
      for (std::size_t u = 0; u < width; ++u) y[u] = rounded<E>(initial_state(n, u));
      continue;
    }
    E const* before = nullptr;
    for (int i = 0; i < a_.length; ++i) {
      int const step = cell_.reverse ? a_.length - 1 - i : i;
      auto const at = static_cast<std::size_t>(n * a_.length + step);
      E* const y =
          a_.y + (static_cast<std::size_t>(n) * output_rows() + static_cast<std::size_t>(step)) * width;
      if (a_.mask[at] == 0) {
        if (before && !cell_.resets_masked)
          std::copy_n(before, width, y);
        else
          std::fill_n(y, width, E{});
      } else {
        before = y;
      }
    }
  }
}

template <class T, class E>
void recurrent_core<T, E>::unpack_diff_inputs() const {
  std::size_t const width = cell_.inputs();
  if (a_.mask)
    std::fill_n(a_.diff_x, static_cast<std::size_t>(a_.batch) * static_cast<std::size_t>(a_.length) * width,
                E{});
  for (std::size_t r = 0; r < rows(); ++r) {
    int const to = order_.inputs()[r];
    if (to < 0) continue;
    E const* const from = m_.x + r * width;
    E* const diff = a_.diff_x + static_cast<std::size_t>(to) * width;
    if (!a_.drops || cell_.dropout == 0) {
      std::copy_n(from, width, diff);
      continue;
    }
    T const* const kept = kept_inputs(to / a_.length);
    for (std::size_t i = 0; i < width; ++i) diff[i] = rounded<E>(widened<T>(from[i]) * kept[i]);
  }
}

/// Computes the gradient of the peepholes: sums over all rows, in order.
template <class T, class E>
void recurrent_core<T, E>::differentiate_peepholes() const {
  std::size_t const width = cell_.width();
  std::fill_n(a_.diff_peepholes, 3 * width, T(0));
  for (int k = 0; k < order_.steps(); ++k)
    for (std::size_t j = 0; j < live(k); ++j) {
      std::size_t const row = first(k) + j;
      T const* const cells = m_.cells + row * width;
      T const* before = nullptr;
      if (k > 0 && order_.restarts()[row] == 0) before = m_.cells + (first(k - 1) + j) * width;
      if (k == 0 && m_.first_cells) before = m_.first_cells + j * width;
      for (std::size_t u = 0; u < width; ++u) {
        auto const diff = [&](std::size_t gate) {
          return widened<T>(m_.gates[(row * 4 + gate) * width + u]);
        };
        if (before) a_.diff_peepholes[u] += diff(0) * before[u];
        if (before) a_.diff_peepholes[width + u] += diff(1) * before[u];
        a_.diff_peepholes[2 * width + u] += diff(3) * cells[u];
      }
    }
}

/// The arguments of step k that forward and backward share.
template <class T, class E>
cell_step<T, E> recurrent_core<T, E>::step(int k) const {
  std::size_t const width = cell_.width();
  cell_step<T, E> made;
  made.activation = cell_.activation;
  made.gate_activation = cell_.gate_activation;
  made.rows = live(k);
  made.units = made.end = width;
  made.gates = m_.gates + first(k) * cell_.columns();
  made.bias = a_.bias;
  made.recurrent_bias = a_.recurrent_bias;
  made.peepholes = a_.peepholes;
  made.before = m_.before + first(k) * width;
  made.read = read_ + first(k) * width;
  if (m_.other) made.other = m_.other + first(k) * width;
  if (m_.cells) made.cells = m_.cells + first(k) * width;
  made.cells_before = m_.first_cells;
  if (m_.cells && k > 0) made.cells_before = m_.cells + first(k - 1) * width;
  made.rows_after = live(k + 1);
  if (a_.mask) {
    made.restarts = order_.restarts() + first(k);
    made.restarts_after = order_.restarts() + first(k + 1);
  }
  made.outputs = order_.outputs() + first(k);
  return made;
}

template <class T, class E>
void recurrent_core<T, E>::forward() const {
  std::size_t const width = cell_.width();
  pack_inputs();
  for (E* const one : {m_.before, m_.read, m_.other}) clear_padding(one, width);
  pack_initial_state();
  products_.multiply_inputs(order_.rows(), m_.x, m_.gates);
  for (int k = 0; k < order_.steps(); ++k) {
    cell_step<T, E> now = step(k);
    if (read_ != m_.before) drop_state(k);
    now.after = m_.before + first(k + 1) * width;
    now.output = a_.y;
    bool const has_state = k > 0 || cell_.has_initial_state;
    if (has_state) {
      products_.multiply_state(order_.rows(k), now.read, m_.sums);
      now.sums = m_.sums;
    }
    if (functions_.reset) {
      products_.run(functions_.reset, now);
      if (has_state) products_.multiply_state(order_.rows(k), now.other, m_.sums);
    }
    products_.run(functions_.forward, now);
  }
  fill_masked_outputs();
  if (cell_.returns_state || a_.carried_after) write_final_state();
}

template <class T, class E>
void recurrent_core<T, E>::backward() const {
  std::size_t const columns = cell_.columns();
  if (a_.diff_bias) std::fill_n(a_.diff_bias, columns, T(0));
  if (a_.diff_recurrent_bias) std::fill_n(a_.diff_recurrent_bias, columns, T(0));
  if (cell_.is_gru()) std::fill_n(m_.diff_sums, static_cast<std::size_t>(order_.rows(0)) * columns, E{});
  for (int k = order_.steps() - 1; k >= 0; --k) {
    cell_step<T, E> now = step(k);
    now.diff_read_after = m_.diff_read;
    now.diff_reset_after = m_.diff_reset;
    now.diff_direct = m_.diff_direct;
    now.diff_cells = m_.diff_cells;
    now.diff_output = a_.diff_y;
    now.diff_bias = a_.diff_bias;
    now.diff_recurrent_bias = a_.diff_recurrent_bias;
    now.diff_reset = m_.diff_reset;
    now.diff_sums = cell_.is_gru() ? m_.diff_sums : now.gates;
    if (a_.mask && !cell_.last_step) {
      now.repeats = order_.repeats() + first(k);
      now.repeat_stride = static_cast<std::ptrdiff_t>(cell_.reverse ? -cell_.units : cell_.units);
    }
    if (cell_.returns_state) begin_state_gradient(now, k);
    products_.run(functions_.backward, now);
    if (functions_.backward_reset) {
      products_.state_gradient(order_.rows(k), now.diff_sums, m_.diff_reset);
      products_.run(functions_.backward_reset, now);
      if (drops_state()) scale_by_kept(m_.diff_reset, live(k));
    }
    if (k == 0 && !a_.diff_state && !a_.diff_cells) break;
    products_.state_gradient(order_.rows(k), now.diff_sums, m_.diff_read);
    if (drops_state()) scale_by_kept(m_.diff_read, live(k));
  }
  if (a_.diff_state || a_.diff_cells) write_state_gradient();
  if (!a_.frozen) {
    products_.weight_gradient(order_.rows(), m_.gates, m_.x);
    products_.recurrent_gradient(order_.rows(), m_.gates, read_);
    if (cell_.kind == cell_kind::gru_after) products_.candidate_gradient(order_.rows(), m_.other, read_);
    if (cell_.kind == cell_kind::gru_before)
      products_.candidate_gradient(order_.rows(), m_.gates + columns - cell_.width(), m_.other);
    if (a_.diff_peepholes) differentiate_peepholes();
  }
  if (!a_.diff_x) return;
  products_.input_gradient(order_.rows(), m_.gates, m_.x);  // writes to the memory of x
  unpack_diff_inputs();
}

}  // namespace cohort::detail
