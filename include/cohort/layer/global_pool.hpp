// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/kind.hpp>

namespace cohort {

namespace detail {

/// Shape inference: C×… → C.
constexpr inference whole_channels(shape const& input) {
  if (input.rank < 2)
    return {"global pooling needs an input of channels x height x width or channels x length",
            {"input", input}};
  return shape{input[0]};
}

/// Calls visit(output element, first input element, elements) for each channel of each example.
template <class T, class Visit>
void each_plane(host_arguments<T> const& a, Visit visit) {
  std::size_t const channels = a.elements_of_output(), area = a.elements_of_input() / channels;
  for (std::size_t o = 0; o < channels; ++o) visit(o, o * area, area);
}

}  // namespace detail

/// Mean of each channel.
///
/// Shapes    input C×H×W (or C×L) → output C.
struct global_avg_pool {
  static constexpr std::string_view kind_name = "global_avg_pool";

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return detail::whole_channels(inputs[0]); }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::each_plane(a, [&](std::size_t o, std::size_t first, std::size_t count) {
      T sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += a.inputs[0][first + i];
      a.output[o] = sum / static_cast<T>(count);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    detail::each_plane(a, [&](std::size_t o, std::size_t first, std::size_t count) {
      std::fill_n(a.diff_inputs[0] + first, count, a.diff_output[o] / static_cast<T>(count));
    });
  }
};

/// Largest element of each channel.
///
/// Shapes    input C×H×W (or C×L) → output C.
/// Exact     among equal elements, the first in row-major order gets the gradient.
struct global_max_pool {
  static constexpr std::string_view kind_name = "global_max_pool";

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return detail::whole_channels(inputs[0]); }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::each_plane(a, [&](std::size_t o, std::size_t first, std::size_t count) {
      a.output[o] = *std::max_element(a.inputs[0] + first, a.inputs[0] + first + count);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
    detail::each_plane(a, [&](std::size_t o, std::size_t first, std::size_t count) {
      auto const largest = std::max_element(a.inputs[0] + first, a.inputs[0] + first + count) - a.inputs[0];
      a.diff_inputs[0][largest] = a.diff_output[o];
    });
  }
};

}  // namespace cohort
