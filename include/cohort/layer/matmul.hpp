// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/broadcast.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Matrix products of two tensors, for each example: join(matmul{.transpose_b = true}, a, b).
///
/// Shapes    inputs …×M×K and …×K×N → output …×M×N. `transpose_a`: the first input is …×K×M; `transpose_b`:
///           the second is …×N×K. The axes before the matrices are broadcast.
struct matmul {
  static constexpr std::string_view kind_name = "matmul";
  static constexpr int max_inputs = 2;

  bool transpose_a = false;
  bool transpose_b = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"transpose_a", &matmul::transpose_a}, field{"transpose_b", &matmul::transpose_b}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs.size() != 2) return {"a matmul needs two inputs: join(matmul{}, a, b)", {"input", inputs[0]}};
    for (shape const& one : inputs)
      if (one.rank < 2)
        return {"a matmul needs matrices: reshape a vector to {1, K} or {K, 1}",
                {"left", inputs[0]},
                {"right", inputs[1]}};
    if (columns(inputs[0], transpose_a) != rows(inputs[1], transpose_b))
      return {"the left matrices must have as many columns as the right ones have rows",
              {"left", inputs[0]},
              {"right", inputs[1]}};
    shape const stacks[]{stack(inputs[0]), stack(inputs[1])};
    if (!detail::broadcast_fits(stacks[0], stacks[1]))
      return {"the extents before the matrices must be equal or 1, compared from the last one",
              {"left", inputs[0]},
              {"right", inputs[1]}};
    shape made = detail::broadcast_shape(stacks);
    made.rank += 2;
    made[made.rank - 2] = rows(inputs[0], transpose_a);
    made[made.rank - 1] = columns(inputs[1], transpose_b);
    return made;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 2.0 * columns(inputs[0], transpose_a) * static_cast<double>(infer(inputs).output.elements());
  }

  /// The axes before the matrices.
  static constexpr shape stack(shape const& s) {
    shape made = s;
    made.rank -= 2;
    made[made.rank] = made[made.rank + 1] = 0;
    return made;
  }
  /// Rows and columns of the matrices of an input, after transposition.
  static constexpr int rows(shape const& s, bool transposed) { return s[s.rank - (transposed ? 1 : 2)]; }
  static constexpr int columns(shape const& s, bool transposed) { return rows(s, !transposed); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    std::fill_n(a.output, a.elements_of_output(), T(0));
    each_product(a, [&](std::size_t left, std::size_t right, std::size_t out) {
      add_product(left_matrix(a, a.inputs[0] + left), right_matrix(a, a.inputs[1] + right),
                  out_matrix(a, a.output + out));
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t x = 0; x < 2; ++x)
      if (a.diff_inputs[x]) std::fill_n(a.diff_inputs[x], a.elements_of_input(x), T(0));
    each_product(a, [&](std::size_t left, std::size_t right, std::size_t out) {
      auto const diff = out_matrix(a, a.diff_output + out);
      if (a.diff_inputs[0])
        add_product(diff, right_matrix(a, a.inputs[1] + right).transposed(),
                    left_matrix(a, a.diff_inputs[0] + left));
      if (a.diff_inputs[1])
        add_product(left_matrix(a, a.inputs[0] + left).transposed(), diff,
                    right_matrix(a, a.diff_inputs[1] + right));
    });
  }

 private:
  /// A matrix in memory. Element (i, j) is first[i · row + j · column].
  template <class T>
  struct matrix {
    T* first;
    std::size_t rows, columns, row, column;

    matrix transposed() const { return {first, columns, rows, column, row}; }
  };

  template <class T>
  static matrix<T> stored(T* first, int rows, int columns, bool transposed) {
    auto const m = static_cast<std::size_t>(rows), n = static_cast<std::size_t>(columns);
    return transposed ? matrix<T>{first, m, n, 1, m} : matrix<T>{first, m, n, n, 1};
  }
  template <class T, class U>
  matrix<U> left_matrix(host_arguments<T> const& a, U* first) const {
    shape const& s = a.input_shapes[0];
    return stored(first, rows(s, transpose_a), columns(s, transpose_a), transpose_a);
  }
  template <class T, class U>
  matrix<U> right_matrix(host_arguments<T> const& a, U* first) const {
    shape const& s = a.input_shapes[1];
    return stored(first, rows(s, transpose_b), columns(s, transpose_b), transpose_b);
  }
  template <class T, class U>
  static matrix<U> out_matrix(host_arguments<T> const& a, U* first) {
    return stored(first, rows(a.output_shape, false), columns(a.output_shape, false), false);
  }

  /// to ← to + a · b.
  template <class T>
  static void add_product(matrix<T const> const& a, matrix<T const> const& b, matrix<T> const& to) {
    for (std::size_t i = 0; i < to.rows; ++i)
      for (std::size_t k = 0; k < a.columns; ++k) {
        T const factor = a.first[i * a.row + k * a.column];
        T const* const from = b.first + k * b.row;
        T* const sums = to.first + i * to.row;
        if (to.column == 1 && b.column == 1)
          for (std::size_t j = 0; j < to.columns; ++j) sums[j] += factor * from[j];
        else
          for (std::size_t j = 0; j < to.columns; ++j) sums[j * to.column] += factor * from[j * b.column];
      }
  }

  /// Calls visit(left, right, output) for each product: the indices of the elements at which its matrices
  /// begin in the two inputs and in the output.
  template <class T, class Visit>
  static void each_product(host_arguments<T> const& a, Visit visit) {
    shape const stacks[]{stack(a.input_shapes[0]), stack(a.input_shapes[1])};
    detail::broadcast_runs const runs(stacks, stack(a.output_shape), a.batch);
    auto const elements = [](shape const& s) {
      return static_cast<std::size_t>(s[s.rank - 2]) * static_cast<std::size_t>(s[s.rank - 1]);
    };
    std::size_t const left = elements(a.input_shapes[0]), right = elements(a.input_shapes[1]),
                      out = elements(a.output_shape);
    runs.each([&](std::size_t first, std::size_t count, detail::broadcast_runs::offsets const& from) {
      for (std::size_t i = 0; i < count; ++i)
        visit((from[0] + i * runs.step(0)) * left, (from[1] + i * runs.step(1)) * right, (first + i) * out);
    });
  }
};

extern template struct detail::host_kernels<matmul>;

}  // namespace cohort
