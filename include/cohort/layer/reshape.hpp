// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/copy.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// The same elements, row-major, with other extents: reshape{.extents = {8, 3, 3}}.
struct reshape {
  static constexpr std::string_view kind_name = "reshape";

  required<shape> extents;
  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{field{"extents", &reshape::extents}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    shape const made = extents;
    if (made.rank == 0 || made.rank > 3) return {"a tensor has one to three extents", {"extents", made}};
    for (int axis = 0; axis < made.rank; ++axis)
      if (made[axis] < 1) return {"every extent must be at least 1", {"extents", made}};
    if (made.elements() != inputs[0].elements())
      return {"reshape keeps the number of elements", {"input", inputs[0]}, {"extents", made}};
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

/// All elements, row-major, along one axis. A dense layer needs none before it.
struct flatten {
  static constexpr std::string_view kind_name = "flatten";

  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return shape{inputs[0].elements()}; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_forward(a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::copy_backward(a);
  }
};

}  // namespace cohort
