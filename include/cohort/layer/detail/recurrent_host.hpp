// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/layer_states.hpp>
#include <cohort/layer/detail/recurrent_cell.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cstdint>

namespace cohort::detail {

/// Returns the number of elements that a recurrent layer passes from forward to backward on the host, for
/// sequences of `length` steps.
std::int64_t recurrent_workspace(recurrent_cell const& cell, int length, int batch);

/// Forward and backward by plain loops, for float and double.
template <class T>
void recurrent_forward(recurrent_cell const& cell, host_arguments<T> const& a);
template <class T>
void recurrent_backward(recurrent_cell const& cell, host_arguments<T> const& a);

/// State of the first example before and after the batch, for a layer that carries its state; null: none.
template <class T>
struct carried_state {
  T const* before = nullptr;
  T* after = nullptr;

  carried_state(recurrent_cell const& cell, step_scalars const* scalars, std::uint64_t layer) {
    if (!cell.carries_state || !scalars || !scalars->states) return;
    std::size_t const first =
        static_cast<std::size_t>(scalars->first_row) * cell.width() * static_cast<std::size_t>(cell.states());
    if (!scalars->states->before(layer)) return;
    before = reinterpret_cast<T const*>(scalars->states->before(layer)) + first;
    after = reinterpret_cast<T*>(scalars->states->after(layer)) + first;
  }
};

/// Writes the factors of the dropouts of `batch` examples, 0 or 1 / (1 − rate): for each example, the factors
/// of its inputs, then the factors of its state.
///
/// Exact     a function of the example's stream; independent of the other examples.
template <class T>
void write_kept_factors(recurrent_cell const& cell, step_scalars const& scalars, std::uint64_t layer,
                        int batch, T* kept);

}  // namespace cohort::detail
