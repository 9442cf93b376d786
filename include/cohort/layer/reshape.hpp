// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/copy.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Changes the extents and keeps the elements in row-major order: reshape{.extents = {8, 3, 3}}.
///
/// Shapes    input any → output `extents`: one to three, with the same number of elements.
struct reshape {
  static constexpr std::string_view kind_name = "reshape";

  required<shape, "extents"> extents;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"extents", &reshape::extents}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    shape const made = extents;
    if (made.rank == 0 || made.rank > 3)
      return {"the target shape of reshape must have one to three extents", {"extents", made}};
    for (int axis = 0; axis < made.rank; ++axis)
      if (made[axis] < 1) return {"every extent must be at least 1", {"extents", made}};
    if (!detail::has_elements(made, inputs[0].elements()))
      return {"reshape must keep the number of elements", {"input", inputs[0]}, {"extents", made}};
    return made;
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_forward(a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::copy_backward(a);
  }
};

/// All elements in row-major order along one axis. A dense layer needs a flatten only after a sequence, to
/// read all steps at once; the elements of masked steps are 0.
///
/// Shapes    input any → output n, the input's number of elements.
struct flatten {
  static constexpr std::string_view kind_name = "flatten";

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return shape{inputs[0].elements()}; }
  constexpr mask_rule masks(std::span<shape const>) const { return {mask_use::ends, true}; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_forward(a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::copy_backward(a);
  }
};

extern template struct detail::host_kernels<reshape>;
extern template struct detail::host_kernels<flatten>;

}  // namespace cohort
