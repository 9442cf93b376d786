// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/detail/rectifying_formulas.hpp>
#include <cohort/layer/pointwise.hpp>

namespace cohort {

/// x clipped to [0, 6]. The derivative at both ends is 0.
using relu6 = pointwise<detail::formula::relu6>;

/// λ·x if x > 0, else λ·α·(e^x − 1). α and λ have the values that preserve mean 0 and variance 1.
///
/// Source    Klambauer, Unterthiner, Mayr and Hochreiter, NIPS 2017.
using selu = pointwise<detail::formula::selu>;

/// ln(1 + e^x)
///
/// Exact     the result is above 0 if the element type can represent it, so its logarithm exists.
using softplus = pointwise<detail::formula::softplus>;

/// x·sigmoid(x); also called SiLU.
using swish = pointwise<detail::formula::swish>;

/// x·Φ(x), with the exact normal distribution function Φ, not the tanh approximation.
///
/// Source    Hendrycks and Gimpel, 2016.
using gelu = pointwise<detail::formula::gelu>;

/// ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), the approximation of gelu that GPT-2 uses.
///
/// Source    Hendrycks and Gimpel, 2016.
using gelu_tanh = pointwise<detail::formula::gelu_tanh>;

/// x·tanh(softplus(x))
///
/// Source    Misra, BMVC 2020.
using mish = pointwise<detail::formula::mish>;

/// x if x > 0, else α·(e^x − 1).
///
/// Source    Clevert, Unterthiner and Hochreiter, ICLR 2016.
struct elu {
  static constexpr std::string_view kind_name = "elu";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool in_place = true;

  double alpha = 1;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"alpha", &elu::alpha}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!(alpha > 0 && alpha < 1e300)) return {"the alpha of an elu must be a finite number above 0"};
    return inputs[0];
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }
  template <class T>
  T value(T x) const {
    return x > 0 ? x : T(alpha) * std::expm1(x);
  }
  template <class T>
  T derivative(T y) const {
    return y > 0 ? 1 : y + T(alpha);
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::forward_pointwise(*this, a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::backward_pointwise(*this, a);
  }
};

extern template struct detail::host_kernels<elu>;

extern template struct detail::host_kernels<relu6>;
extern template struct detail::host_kernels<selu>;
extern template struct detail::host_kernels<softplus>;
extern template struct detail::host_kernels<swish>;
extern template struct detail::host_kernels<gelu>;
extern template struct detail::host_kernels<gelu_tanh>;
extern template struct detail::host_kernels<mish>;

}  // namespace cohort
