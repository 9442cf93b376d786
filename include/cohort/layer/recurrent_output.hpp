// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/layer/kind.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cohort {

/// Parts of the output of a recurrent layer that returns its state: the outputs of its steps, the state h
/// after the last step, and the cells c of an lstm.
enum class recurrent_part : std::uint8_t { steps, state, cells };

namespace detail {

inline constexpr std::array<std::string_view, 3> recurrent_part_names{"steps", "state", "cells"};

}  // namespace detail

/// Names in files, in the order of the values.
constexpr std::span<std::string_view const> names_of(recurrent_part) { return detail::recurrent_part_names; }

/// One part of the output of a recurrent layer with `returns_state`; `with_state` makes these layers.
///
/// Shapes    input (T + S)×U, or S×U if the layer has `last_step`; the last S rows are the state: h, and c of
///           an lstm (S = 2). Output T×U for the steps, U for h or c.
struct recurrent_output {
  static constexpr std::string_view kind_name = "recurrent_output";

  required<int, "states"> states;
  recurrent_part part = recurrent_part::steps;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"states", &recurrent_output::states}, field{"part", &recurrent_output::part}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (states < 1 || states > 2)
      return {"a state has one or two tensors: h, and c of an lstm", labelled_number("states", states)};
    if (inputs[0].rank != 2 || inputs[0][0] < states)
      return {"a member of with_state must read a recurrent layer that returns its state",
              {"input", inputs[0]}};
    if (part == recurrent_part::cells && states < 2)
      return {"only an lstm has cells", labelled_number("tensors of the state", states)};
    if (part != recurrent_part::steps) return shape{inputs[0][1]};
    if (inputs[0][0] == states)
      return {"a recurrent layer with last_step has no outputs of other steps", {"input", inputs[0]}};
    return shape{inputs[0][0] - states, inputs[0][1]};
  }
  constexpr mask_rule masks(std::span<shape const>) const {
    mask_rule rule = part == recurrent_part::steps ? mask_use::passes : mask_use::ends;
    rule.state_rows = -states;
    return rule;
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    auto const [all, first, count] = sizes(a.input_shapes[0]);
    for (std::size_t n = 0; n < static_cast<std::size_t>(a.batch); ++n)
      std::copy_n(a.inputs[0] + n * all + first, count, a.output + n * count);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    auto const [all, first, count] = sizes(a.input_shapes[0]);
    for (std::size_t n = 0; n < static_cast<std::size_t>(a.batch); ++n) {
      T* const to = a.diff_inputs[0] + n * all;
      std::fill_n(to, first, T(0));
      std::copy_n(a.diff_output + n * count, count, to + first);
      std::fill(to + first + count, to + all, T(0));
    }
  }

 private:
  /// Range of one example: number of input elements, first copied element, number of copied elements.
  struct range {
    std::size_t all, first, count;
  };
  range sizes(shape const& input) const {
    auto const width = static_cast<std::size_t>(input[1]), rows = static_cast<std::size_t>(input[0]);
    auto const steps = rows - static_cast<std::size_t>(states);
    if (part == recurrent_part::steps) return {rows * width, 0, steps * width};
    return {rows * width, (steps + (part == recurrent_part::cells ? 1 : 0)) * width, width};
  }
};

}  // namespace cohort

namespace cohort::detail {
template <>
inline constexpr bool is_on_demand_layer<recurrent_output> = true;
}  // namespace cohort::detail

extern template struct cohort::detail::host_kernels<cohort::recurrent_output>;
