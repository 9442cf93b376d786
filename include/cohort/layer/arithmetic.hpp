// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/broadcast.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

namespace detail {

constexpr inference equal_shapes(std::span<shape const> inputs, char const* sentence) {
  for (shape const& other : inputs)
    if (!(other == inputs[0])) return {sentence, {"left", inputs[0]}, {"right", other}};
  return inputs[0];
}

}  // namespace detail

/// Elementwise product of up to 64 tensors. Written `a * b`.
///
/// Shapes    inputs are broadcast: their last axes are aligned, and along each axis the extents are equal or
///           1. A factor per channel of an image has the shape C×1×1.
struct multiply {
  static constexpr std::string_view kind_name = "multiply";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_broadcast(
        inputs, "tensors cannot be multiplied: from the last axis on, their extents must be equal or 1");
  }
  constexpr double flops(std::span<shape const> inputs) const { return detail::flops_of_join(inputs); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::broadcast_runs const runs(a.input_shapes, a.output_shape, a.batch);
    runs.each([&](std::size_t first, std::size_t count, detail::broadcast_runs::offsets const& from) {
      T* const to = a.output + first;
      for (std::size_t i = 0; i < count; ++i) to[i] = a.inputs[0][from[0] + i * runs.step(0)];
      for (std::size_t x = 1; x < a.input_shapes.size(); ++x)
        multiply_by(to, count, a.inputs[x] + from[x], runs.step(x));
    });
  }
  /// Multiplies diff_output by all other inputs; dividing the output by the input would fail for zeros.
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::broadcast_runs const runs(a.input_shapes, a.output_shape, a.batch);
    for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
      if (a.diff_inputs[x])
        detail::broadcast_gradient(
            a, runs, x, [&](T* part, std::size_t count, detail::broadcast_runs::offsets const& from) {
              for (std::size_t y = 0; y < a.input_shapes.size(); ++y)
                if (y != x) multiply_by(part, count, a.inputs[y] + from[y], runs.step(y));
            });
  }

 private:
  /// to ← to · from, where `from` advances by `step`, 1 or 0.
  template <class T>
  static void multiply_by(T* to, std::size_t count, T const* from, std::size_t step) {
    if (step == 1) {
      for (std::size_t i = 0; i < count; ++i) to[i] *= from[i];
    } else {
      T const factor = *from;
      for (std::size_t i = 0; i < count; ++i) to[i] *= factor;
    }
  }
};

/// Elementwise mean of up to 64 tensors of equal shape: join(average{}, a, b).
struct average {
  static constexpr std::string_view kind_name = "average";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::equal_shapes(inputs, "only tensors of equal shape can be averaged");
  }
  constexpr double flops(std::span<shape const> inputs) const { return detail::flops_of_join(inputs); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    T const factor = 1 / static_cast<T>(a.input_shapes.size());
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) {
      T sum = a.inputs[0][i];
      for (std::size_t x = 1; x < a.input_shapes.size(); ++x) sum += a.inputs[x][i];
      a.output[i] = factor * sum;
    }
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    T const factor = 1 / static_cast<T>(a.input_shapes.size());
    for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
      for (std::size_t i = 0; a.diff_inputs[x] && i < a.elements_of_output(); ++i)
        a.diff_inputs[x][i] = factor * a.diff_output[i];
  }
};

/// Elementwise maximum of up to 64 tensors of equal shape: join(maximum{}, a, b).
///
/// Exact     if several inputs have the largest element, the first of them gets the whole gradient. NaN
///           counts as the largest value.
struct maximum {
  static constexpr std::string_view kind_name = "maximum";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::equal_shapes(inputs, "a maximum needs tensors of equal shape");
  }
  constexpr double flops(std::span<shape const> inputs) const { return detail::flops_of_join(inputs); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.output[i] = a.inputs[largest(a, i)][i];
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) {
      std::size_t const winner = largest(a, i);
      for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
        if (a.diff_inputs[x]) a.diff_inputs[x][i] = x == winner ? a.diff_output[i] : 0;
    }
  }

 private:
  /// Returns the first input whose element i is largest. NaN counts as largest, so that it propagates.
  template <class T>
  static std::size_t largest(host_arguments<T> const& a, std::size_t i) {
    std::size_t found = 0;
    for (std::size_t x = 1; x < a.input_shapes.size(); ++x) {
      T const best = a.inputs[found][i], other = a.inputs[x][i];
      if (other > best || (other != other && best == best)) found = x;
    }
    return found;
  }
};

extern template struct detail::host_kernels<multiply>;
extern template struct detail::host_kernels<average>;
extern template struct detail::host_kernels<maximum>;

}  // namespace cohort
