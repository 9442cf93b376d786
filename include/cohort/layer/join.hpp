// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/broadcast.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Elementwise sum of up to 64 tensors. Written `a + b`.
///
/// Shapes    inputs are broadcast: their last axes are aligned, and along each axis the extents are equal or
///           1. A summand per channel of an image has the shape C×1×1.
struct add {
  static constexpr std::string_view kind_name = "add";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_broadcast(
        inputs, "tensors cannot be added: from the last axis on, their extents must be equal or 1");
  }
  constexpr double flops(std::span<shape const> inputs) const { return detail::flops_of_join(inputs); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::broadcast_runs const runs(a.input_shapes, a.output_shape, a.batch);
    runs.each([&](std::size_t first, std::size_t count, detail::broadcast_runs::offsets const& from) {
      for (std::size_t i = 0; i < count; ++i) {
        T sum = a.inputs[0][from[0] + i * runs.step(0)];
        for (std::size_t x = 1; x < a.input_shapes.size(); ++x)
          sum += a.inputs[x][from[x] + i * runs.step(x)];
        a.output[first + i] = sum;
      }
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::broadcast_runs const runs(a.input_shapes, a.output_shape, a.batch);
    for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
      if (a.diff_inputs[x])
        detail::broadcast_gradient(a, runs, x,
                                   [](T*, std::size_t, detail::broadcast_runs::offsets const&) {});
  }
};

/// Concatenation of up to 64 tensors along the channels. Written `concat(a, b, …)`.
///
/// Shapes    inputs Cᵢ×H×W, T×Cᵢ or Uᵢ → output ΣCᵢ×H×W, T×ΣCᵢ or ΣUᵢ.
struct concatenate {
  static constexpr std::string_view kind_name = "concatenate";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    shape joined = inputs[0];
    if (joined.rank == 0) return {"a scalar cannot be concatenated", {"input", joined}};
    int const axis = channel_axis(joined);
    joined[axis] = 0;
    for (shape const& other : inputs) {
      shape aligned = other;
      if (aligned.rank == joined.rank) aligned[axis] = inputs[0][axis];
      if (!(aligned == inputs[0]))
        return {
            "concatenated tensors may differ in their channels only", {"left", inputs[0]}, {"right", other}};
      joined[axis] += other[axis];
    }
    return joined;
  }
};

extern template struct detail::host_kernels<add>;

}  // namespace cohort
