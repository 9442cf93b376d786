// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort {

/// An input of the network, provided by every batch. Added by `builder::input`.
///
/// Shapes    `extents`: one to three, without the batch extent.
struct input {
  static constexpr std::string_view kind_name = "input";
  static constexpr layer_role role = layer_role::input;

  required<shape, "extents"> extents;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"extents", &input::extents}}; }
  constexpr inference infer(std::span<shape const>) const {
    shape const made = extents;
    for (int axis = 0; axis < made.rank; ++axis)
      if (made[axis] < 1) return {"every extent of an input must be at least 1", {"input", made}};
    if (made.rank == 0 || made.rank > 3) return {"an input must have one to three extents", {"input", made}};
    return made;
  }
};

/// An input of the network whose examples are sequences of different lengths. Every batch provides the input,
/// and may provide a mask: T elements per example, 0 for padding. Without a mask, no step is padding. Added
/// by `builder::masked_input`.
///
/// Shapes    `extents`: T×C, or T for indices; T is the number of steps with padding.
struct masked_input {
  static constexpr std::string_view kind_name = "masked_input";
  static constexpr layer_role role = layer_role::input;
  static constexpr mask_use masks = mask_use::begins;

  required<shape, "extents"> extents;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"extents", &masked_input::extents}}; }
  constexpr inference infer(std::span<shape const>) const {
    shape const made = extents;
    if (made.rank == 0 || made.rank > 2)
      return {"a masked input is a sequence: T or TxC, with T steps", {"input", made}};
    for (int axis = 0; axis < made.rank; ++axis)
      if (made[axis] < 1) return {"every extent of an input must be at least 1", {"input", made}};
    return made;
  }
};

/// A masked input whose padding is marked by a value: if a batch has no mask, a step is masked if all its
/// numbers equal `value`. Added by `builder::padded_input`.
///
/// Shapes    as masked_input.
/// Units     `value` is compared in f32, with the numbers that the network gets.
struct padded_input {
  static constexpr std::string_view kind_name = "padded_input";
  static constexpr layer_role role = layer_role::input;
  static constexpr mask_use masks = mask_use::begins;

  required<shape, "extents"> extents;
  required<double, "value"> value;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"extents", &padded_input::extents}, field{"value", &padded_input::value}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!is_finite(value.value) || !fits_f32(value))
      return {"the value that marks padding must be a finite number of f32", {"input", extents}};
    return masked_input{.extents = extents}.infer(inputs);
  }
};

}  // namespace cohort
