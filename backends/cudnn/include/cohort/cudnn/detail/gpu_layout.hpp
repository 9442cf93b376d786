// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <string>

namespace cohort::detail {

inline std::size_t elements_of(shape const& s) { return static_cast<std::size_t>(s.elements()); }

/// How a tensor lies in a GPU's memory: densely, axis by axis or with the channels last, in f32 or bf16.
///
/// Shapes    examples × channels × …; weights are filters × channels × ….
/// Order     channels_last says what makes a difference: it is false where there is one channel, or one place.
struct gpu_layout {
  shape dims;
  bool channels_last = false;
  element_type type = element_type::f32;

  gpu_layout() = default;
  gpu_layout(shape const& of) : dims(of) {}  // not explicit: most kernels want f32, axis by axis
  gpu_layout(shape const& of, bool last, element_type as);
  bool operator==(gpu_layout const&) const = default;

  std::size_t elements() const { return elements_of(dims); }
  std::size_t bytes() const { return elements() * bytes_of(type); }
  std::size_t channels() const { return dims.rank > 1 ? static_cast<std::size_t>(dims[1]) : 1; }
  /// Elements of a channel in one example.
  std::size_t places() const;
  /// Elements of a channel that lie side by side.
  std::size_t area() const { return channels_last ? 1 : places(); }
  /// Elements that lie side by side at a place: one, or channels last all.
  std::size_t depth() const { return channels_last ? channels() : 1; }
  bool is_narrow() const { return type == element_type::bf16; }
  std::string text() const;
  /// Another tensor that lies likewise.
  gpu_layout like_this(shape const& other) const { return {other, channels_last, type}; }
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/gpu_layout.ipp>
#endif
