// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <string>

namespace cohort::detail {

inline std::size_t elements_of(shape const& s) { return static_cast<std::size_t>(s.elements()); }

/// Layout of a tensor in GPU memory: packed, channels first or channels last, in f32 or bf16.
///
/// Shapes    examples × channels × …; weights are filters × channels × ….
/// Order     if there is only one channel or one position, both orders are the same, and channels_last is
///           false.
struct gpu_layout {
  shape dims;
  bool channels_last = false;
  element_type type = element_type::f32;

  gpu_layout() = default;
  gpu_layout(shape const& of) : dims(of) {}  // implicit: most kernels use f32, channels first
  gpu_layout(shape const& of, bool last, element_type as);
  bool operator==(gpu_layout const&) const = default;

  std::size_t elements() const { return elements_of(dims); }
  std::size_t bytes() const { return elements() * bytes_of(type); }
  std::size_t channels() const { return dims.rank > 1 ? static_cast<std::size_t>(dims[1]) : 1; }
  /// Returns the number of positions: the elements of a channel in one example.
  std::size_t places() const;
  /// Returns the number of adjacent elements of one channel: all positions, or 1 if channels last.
  std::size_t area() const { return channels_last ? 1 : places(); }
  /// Returns the number of adjacent elements at one position: 1, or all channels if channels last.
  std::size_t depth() const { return channels_last ? channels() : 1; }
  bool is_narrow() const { return type == element_type::bf16; }
  std::string text() const;
  /// Returns a layout for other dimensions with the same order of axes and element type.
  gpu_layout with_dims(shape const& other) const { return {other, channels_last, type}; }
};

}  // namespace cohort::detail
