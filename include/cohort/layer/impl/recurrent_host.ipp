// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/layer/detail/recurrent_core.hpp>
#include <cohort/layer/detail/recurrent_host.hpp>
#include <vector>

namespace cohort::detail {

/// Products by plain loops.
template <class T>
struct host_products final : recurrent_products<T, T> {
  std::size_t features, units, columns;
  std::size_t recurrent_columns;  // columns without the candidate
  std::size_t candidate_stride;
  T const *weights, *recurrent;
  T *diff_weights = nullptr, *diff_recurrent = nullptr;

  host_products(recurrent_cell const& cell, host_arguments<T> const& a)
      : features(cell.inputs()),
        units(cell.width()),
        columns(cell.columns()),
        recurrent_columns(cell.is_gru() ? 2 * units : columns),
        candidate_stride(cell.kind == cell_kind::gru_after ? units : columns),
        weights(a.parameters[0]),
        recurrent(a.parameters[1]) {}

  /// to (rows × n) ← from (rows × k) · matrixᵀ, with matrix n × k.
  static void multiply(int rows, T const* from, std::size_t k, T const* matrix, std::size_t n, T* to) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
      for (std::size_t j = 0; j < n; ++j) {
        T sum = 0;
        for (std::size_t i = 0; i < k; ++i) sum += from[r * k + i] * matrix[j * k + i];
        to[r * n + j] = sum;
      }
  }
  /// to (rows × k) ← from (rows × n) · matrix, with matrix n × k.
  static void multiply_back(int rows, T const* from, std::size_t n, T const* matrix, std::size_t k, T* to) {
    std::fill_n(to, static_cast<std::size_t>(rows) * k, T(0));
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < k; ++i) to[r * k + i] += from[r * n + j] * matrix[j * k + i];
  }
  /// to (n × k) ← leftᵀ · from (rows × k). The rows of diffs have `stride` elements; left consists of the
  /// first n elements of each row.
  static void multiply_transposed(int rows, T const* diffs, std::size_t stride, std::size_t n, T const* from,
                                  std::size_t k, T* to) {
    std::fill_n(to, n * k, T(0));
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
      for (std::size_t j = 0; j < n; ++j) {
        T const diff = diffs[r * stride + j];
        for (std::size_t i = 0; i < k; ++i) to[j * k + i] += diff * from[r * k + i];
      }
  }

  void multiply_inputs(int rows, T const* x, T* gates) override {
    multiply(rows, x, features, weights, columns, gates);
  }
  void multiply_state(int rows, T const* read, T* sums) override {
    multiply(rows, read, units, recurrent, columns, sums);
  }
  void state_gradient(int rows, T const* diff_sums, T* diff) override {
    multiply_back(rows, diff_sums, columns, recurrent, units, diff);
  }
  void input_gradient(int rows, T const* diff_gates, T* diff_x) override {
    multiply_back(rows, diff_gates, columns, weights, features, diff_x);
  }
  void weight_gradient(int rows, T const* diff_gates, T const* x) override {
    multiply_transposed(rows, diff_gates, columns, columns, x, features, diff_weights);
  }
  void recurrent_gradient(int rows, T const* diff_gates, T const* read) override {
    multiply_transposed(rows, diff_gates, columns, recurrent_columns, read, units, diff_recurrent);
  }
  void candidate_gradient(int rows, T const* diff, T const* read) override {
    multiply_transposed(rows, diff, candidate_stride, units, read, units,
                        diff_recurrent + recurrent_columns * units);
  }
};

template <class T>
void write_kept_factors(recurrent_cell const& cell, step_scalars const& scalars, std::uint64_t layer,
                        int batch, T* kept) {
  auto const write = [](random_stream const& numbers, double rate, std::uint64_t first_block,
                        std::size_t count, T* to) {
    T const factor[]{0, static_cast<T>(1 / (1 - rate))};
    auto const dropped_below = static_cast<std::uint32_t>(rate * 0x1p32);
    for (std::size_t i = 0; i < count; i += 4) {
      auto const words = numbers.block(first_block + i / 4);
      for (std::size_t k = 0; k < 4 && i + k < count; ++k) to[i + k] = factor[words[k] >= dropped_below];
    }
  };
  constexpr std::uint64_t blocks_of_inputs = std::uint64_t{1} << 32;
  for (int n = 0; n < batch; ++n, kept += cell.inputs() + cell.width()) {
    random_stream const numbers(scalars.seed, layer, static_cast<std::uint64_t>(scalars.step),
                                scalars.index(n));
    write(numbers, cell.dropout, 0, cell.inputs(), kept);
    write(numbers, cell.recurrent_dropout, blocks_of_inputs, cell.width(), kept + cell.inputs());
  }
}

/// Data that both passes use.
template <class T>
struct host_recurrence {
  recurrent_schedule schedule;
  std::vector<T> saved, scratch;

  recurrent_sizes sizes;
  recurrent_memory<T, T> memory;
  recurrent_tensors<T, T> tensors;

  /// The calling thread's object. Its memory is reused.
  static host_recurrence& of_this_thread(recurrent_cell const& cell, host_arguments<T> const& a,
                                         bool backward) {
    thread_local host_recurrence made;
    made.prepare(cell, a, backward);
    return made;
  }

  void prepare(recurrent_cell const& cell, host_arguments<T> const& a, bool backward) {
    int const length = a.input_shapes[0][0];
    tensors = {};
    tensors.batch = a.batch;
    tensors.length = length;
    tensors.mask = a.mask ? a.mask->steps : nullptr;
    tensors.x = a.inputs[0];
    tensors.y = a.output;
    if (cell.bias) tensors.bias = a.parameters[cell.bias_at];
    if (cell.recurrent_bias) tensors.recurrent_bias = a.parameters[cell.recurrent_bias_at()];
    if (cell.peepholes) tensors.peepholes = a.parameters[cell.peepholes_at()];
    carried_state<T> const carried(cell, a.scalars, a.layer);
    tensors.carried = carried.before;
    if (!backward) tensors.carried_after = carried.after;
    if (a.input_shapes.size() > 1) {
      tensors.state = a.inputs[1];
      if (cell.states() == 2) tensors.cells = a.inputs[2];
    }
    schedule.build({a.batch, length, tensors.mask, cell.reverse, cell.resets_masked, cell.last_step,
                    cell.returns_state ? cell.states() : 0});
    sizes = recurrent_sizes(cell, a.batch, a.batch, a.batch * length);
    T* kept = a.workspace;
    if (!kept) {
      saved.resize(sizes.saved(1, 1));
      kept = saved.data();
    }
    memory = {};
    memory.place_saved(sizes, reinterpret_cast<std::byte*>(kept));
    scratch.resize(backward ? sizes.backward_scratch(1, 1) : sizes.forward_scratch(1));
    auto* const free = reinterpret_cast<std::byte*>(scratch.data());
    backward ? memory.place_backward_scratch(sizes, free) : memory.place_forward_scratch(sizes, free);
    tensors.drops = a.training && memory.kept;
    if (tensors.drops) write_kept_factors(cell, *a.scalars, a.layer, a.batch, memory.kept);
  }
};

std::int64_t recurrent_workspace(recurrent_cell const& cell, int length, int batch) {
  return static_cast<std::int64_t>(recurrent_sizes(cell, batch, batch, batch * length).saved(1, 1));
}

template <class T>
void recurrent_forward(recurrent_cell const& cell, host_arguments<T> const& a) {
  auto& state = host_recurrence<T>::of_this_thread(cell, a, false);
  host_products<T> products(cell, a);
  cell_functions<T, T> const functions = plain_cell_functions<T>(cell.kind);
  recurrent_core<T, T>(cell, functions, state.schedule, products, state.tensors, state.memory).forward();
}

template <class T>
void recurrent_backward(recurrent_cell const& cell, host_arguments<T> const& a) {
  auto& state = host_recurrence<T>::of_this_thread(cell, a, true);
  host_products<T> products(cell, a);
  products.diff_weights = a.diff_parameters[0];
  products.diff_recurrent = a.diff_parameters[1];
  state.tensors.diff_y = a.diff_output;
  state.tensors.diff_x = a.diff_inputs[0];
  if (a.input_shapes.size() > 1) {
    state.tensors.diff_state = a.diff_inputs[1];
    if (cell.states() == 2) state.tensors.diff_cells = a.diff_inputs[2];
  }
  if (cell.bias) state.tensors.diff_bias = a.diff_parameters[cell.bias_at];
  if (cell.recurrent_bias) state.tensors.diff_recurrent_bias = a.diff_parameters[cell.recurrent_bias_at()];
  if (cell.peepholes) state.tensors.diff_peepholes = a.diff_parameters[cell.peepholes_at()];
  cell_functions<T, T> const functions = plain_cell_functions<T>(cell.kind);
  recurrent_core<T, T>(cell, functions, state.schedule, products, state.tensors, state.memory).backward();
}

template void recurrent_forward<float>(recurrent_cell const&, host_arguments<float> const&);
template void recurrent_forward<double>(recurrent_cell const&, host_arguments<double> const&);
template void recurrent_backward<float>(recurrent_cell const&, host_arguments<float> const&);
template void recurrent_backward<double>(recurrent_cell const&, host_arguments<double> const&);
template void write_kept_factors<float>(recurrent_cell const&, step_scalars const&, std::uint64_t, int,
                                        float*);

}  // namespace cohort::detail
