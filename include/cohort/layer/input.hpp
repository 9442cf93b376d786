// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>

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

  static constexpr auto fields() { return std::tuple{field{"extents", &input::extents}}; }
  constexpr inference infer(std::span<shape const>) const {
    shape const made = extents;
    for (int axis = 0; axis < made.rank; ++axis)
      if (made[axis] < 1) return {"every extent of an input must be at least 1", {"input", made}};
    if (made.rank == 0 || made.rank > 3) return {"an input must have one to three extents", {"input", made}};
    return made;
  }
};

}  // namespace cohort
