// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Sum, element by element, of up to 64 tensors of equal shape. Written `a + b`.
struct add {
  static constexpr std::string_view kind_name = "add";
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    for (shape const& other : inputs)
      if (!(other == inputs[0]))
        return {"only tensors of equal shape can be added", {"left", inputs[0]}, {"right", other}};
    return inputs[0];
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs.size() - 1) * static_cast<double>(inputs[0].elements());
  }
};

/// Concatenation of up to 64 tensors along the first axis (channels). Written `concat(a, b, …)`.
///
/// Shapes    inputs Cᵢ×H×W (or Uᵢ) → output ΣCᵢ×H×W.
struct concatenate {
  static constexpr std::string_view kind_name = "concatenate";
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    shape joined = inputs[0];
    if (joined.rank == 0) return {"a scalar cannot be concatenated", {"input", joined}};
    joined[0] = 0;
    for (shape const& other : inputs) {
      shape aligned = other;
      if (aligned.rank > 0) aligned[0] = inputs[0][0];
      if (!(aligned == inputs[0]))
        return {"concatenated tensors may differ in the first extent only",
                {"left", inputs[0]},
                {"right", other}};
      joined[0] += other[0];
    }
    return joined;
  }
};

}  // namespace cohort
