// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/recurrent_core.hpp>
#include <cohort/tensor/bf16.hpp>
#include <type_traits>

namespace cohort::detail {

/// Returns x·factor, rounded to the type of x.
template <class T, class E>
E scaled_element(E x, T factor) {
  if constexpr (std::is_same_v<E, bf16>)
    return bf16::nearest(x.value() * factor);
  else
    return x * factor;
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
  diff_x = placed<E>(at, sizes.diff_x);
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
    for (std::size_t i = 0; i < width; ++i) to[i] = scaled_element(x[i], kept[i]);
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

/// Writes the part of the states before step k that a dropout keeps.
template <class T, class E>
void recurrent_core<T, E>::drop_state(int k) const {
  std::size_t const width = cell_.width();
  for (std::size_t j = 0; j < live(k); ++j) {
    std::size_t const at = (first(k) + j) * width;
    T const* const kept = kept_state(j);
    for (std::size_t u = 0; u < width; ++u)
      read_[at + u] = drops_state() ? scaled_element(m_.before[at + u], kept[u]) : m_.before[at + u];
  }
}

template <class T, class E>
void recurrent_core<T, E>::scale_by_kept(T* rows, std::size_t count) const {
  std::size_t const width = cell_.width();
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t u = 0; u < width; ++u) rows[j * width + u] *= kept_state(j)[u];
}

/// Masked steps repeat the output before them, or have a zero output.
template <class T, class E>
void recurrent_core<T, E>::fill_masked_outputs() const {
  if (!a_.mask) return;
  std::size_t const width = cell_.width();
  for (int n = 0; n < a_.batch; ++n) {
    if (cell_.last_step) {
      if (order_.steps_of(n) == 0) std::fill_n(a_.y + static_cast<std::size_t>(n) * width, width, E{});
      continue;
    }
    E const* before = nullptr;
    for (int i = 0; i < a_.length; ++i) {
      int const step = cell_.reverse ? a_.length - 1 - i : i;
      auto const at = static_cast<std::size_t>(n * a_.length + step);
      E* const y = a_.y + at * width;
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
    E const* const from = m_.diff_x + r * width;
    E* const diff = a_.diff_x + static_cast<std::size_t>(to) * width;
    if (!a_.drops || cell_.dropout == 0) {
      std::copy_n(from, width, diff);
      continue;
    }
    T const* const kept = kept_inputs(to / a_.length);
    for (std::size_t i = 0; i < width; ++i) diff[i] = scaled_element(from[i], kept[i]);
  }
}

/// Sums over all rows, in order.
template <class T, class E>
void recurrent_core<T, E>::differentiate_peepholes() const {
  std::size_t const width = cell_.width();
  std::fill_n(a_.diff_peepholes, 3 * width, T(0));
  for (int k = 0; k < order_.steps(); ++k)
    for (std::size_t j = 0; j < live(k); ++j) {
      std::size_t const row = first(k) + j;
      T const* const cells = m_.cells + row * width;
      bool const zero = k == 0 || order_.restarts()[row] != 0;
      T const* const before = zero ? nullptr : m_.cells + (first(k - 1) + j) * width;
      for (std::size_t u = 0; u < width; ++u) {
        auto const diff = [&](std::size_t gate) {
          E const found = m_.gates[(row * 4 + gate) * width + u];
          if constexpr (std::is_same_v<E, bf16>)
            return found.value();
          else
            return found;
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
  std::fill_n(m_.before, first(1) * width, E{});
  products_.multiply_inputs(order_.rows(), m_.x, m_.gates);
  for (int k = 0; k < order_.steps(); ++k) {
    cell_step<T, E> now = step(k);
    if (read_ != m_.before) drop_state(k);
    now.after = m_.before + first(k + 1) * width;
    now.output = a_.y;
    if (k > 0) {
      products_.multiply_state(order_.rows(k), now.read, m_.sums);
      now.sums = m_.sums;
    }
    if (functions_.reset) {
      products_.run(functions_.reset, now);
      if (k > 0) products_.multiply_state(order_.rows(k), now.other, m_.sums);
    }
    products_.run(functions_.forward, now);
  }
  fill_masked_outputs();
}

template <class T, class E>
void recurrent_core<T, E>::backward() const {
  std::size_t const columns = cell_.columns();
  if (a_.diff_bias) std::fill_n(a_.diff_bias, columns, T(0));
  if (a_.diff_recurrent_bias) std::fill_n(a_.diff_recurrent_bias, columns, T(0));
  clear_padding(m_.diff_sums, columns);
  E* const diff_sums = m_.diff_sums ? m_.diff_sums : m_.gates;
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
    now.diff_sums = diff_sums + first(k) * columns;
    if (a_.mask && !cell_.last_step) {
      now.repeats = order_.repeats() + first(k);
      now.repeat_stride = static_cast<std::ptrdiff_t>(cell_.reverse ? -cell_.units : cell_.units);
    }
    products_.run(functions_.backward, now);
    if (functions_.backward_reset) {
      products_.state_gradient(order_.rows(k), now.diff_sums, m_.diff_reset);
      products_.run(functions_.backward_reset, now);
      if (drops_state()) scale_by_kept(m_.diff_reset, live(k));
    }
    if (k == 0) break;
    products_.state_gradient(order_.rows(k), now.diff_sums, m_.diff_read);
    if (drops_state()) scale_by_kept(m_.diff_read, live(k));
  }
  if (!a_.frozen) {
    products_.weight_gradient(order_.rows(), m_.gates, m_.x);
    products_.recurrent_gradient(order_.rows(), diff_sums, read_);
    if (cell_.kind == cell_kind::gru_before) products_.candidate_gradient(order_.rows(), m_.gates, m_.other);
    if (a_.diff_peepholes) differentiate_peepholes();
  }
  if (!a_.diff_x) return;
  products_.input_gradient(order_.rows(), m_.gates, m_.diff_x);
  unpack_diff_inputs();
}

}  // namespace cohort::detail
