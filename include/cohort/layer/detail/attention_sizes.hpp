// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstddef>

namespace cohort::detail {

/// Extents and settings of an attention layer.
struct attention_sizes {
  int queries = 0;        // steps
  int keys = 0;           // steps
  int columns = 0;        // columns of queries and keys, all heads
  int value_columns = 0;  // columns of values, all heads
  int heads = 0;
  bool packed = false;  // queries, keys and values are columns of one input
  bool causal = false;
  double rotary = 0;

  constexpr std::size_t width() const { return static_cast<std::size_t>(columns / heads); }
  constexpr std::size_t value_width() const { return static_cast<std::size_t>(value_columns / heads); }
  /// Number of keys to which query i may attend, before masking.
  constexpr int limit(int i) const { return causal ? i + 1 : keys; }
};

/// Angle by which rotary positions rotate pair k of `pairs` pairs of columns at a step.
inline double rotary_angle(double base, std::size_t step, std::size_t k, std::size_t pairs) {
  return static_cast<double>(step) * std::pow(base, -static_cast<double>(k) / static_cast<double>(pairs));
}

/// The rows of one head of one example: row t begins at first + t · stride.
template <class T>
struct head_rows {
  T* first;
  std::size_t stride;

  T* operator[](int t) const { return first + static_cast<std::size_t>(t) * stride; }
};

/// Queries, keys and values of one head. U: T or T const.
template <class U>
struct head_tensors {
  head_rows<U> queries, keys, values;

  /// `tensors`: in the order of the layer's inputs. Pointers may be null.
  static head_tensors of(attention_sizes const& s, U* const* tensors, int example, int head) {
    auto const rows = [&](U* tensor, int steps, std::size_t stride, std::size_t column) {
      return head_rows<U>{
          tensor
              ? tensor + static_cast<std::size_t>(example) * static_cast<std::size_t>(steps) * stride + column
              : nullptr,
          stride};
    };
    auto const columns = static_cast<std::size_t>(s.columns), h = static_cast<std::size_t>(head);
    if (s.packed)
      return {rows(tensors[0], s.queries, 3 * columns, h * s.width()),
              rows(tensors[0], s.queries, 3 * columns, columns + h * s.width()),
              rows(tensors[0], s.queries, 3 * columns, 2 * columns + h * s.width())};
    return {rows(tensors[0], s.queries, columns, h * s.width()),
            rows(tensors[1], s.keys, columns, h * s.width()),
            rows(tensors[2], s.keys, static_cast<std::size_t>(s.value_columns), h * s.value_width())};
  }
};

/// The rows of one head's output, or of its gradient.
template <class U>
head_rows<U> head_output(attention_sizes const& s, U* tensor, int example, int head) {
  auto const columns = static_cast<std::size_t>(s.value_columns);
  std::size_t const rows = static_cast<std::size_t>(example) * static_cast<std::size_t>(s.queries);
  return {tensor + rows * columns + static_cast<std::size_t>(head) * s.value_width(), columns};
}

}  // namespace cohort::detail
