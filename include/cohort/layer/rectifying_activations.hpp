// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/bounded_activations.hpp>
#include <numbers>

namespace cohort {

namespace formula {

struct relu6 {
  static constexpr std::string_view kind_name = "relu6";
  template <class T>
  static T value(T x) {
    return x < 0 ? 0 : x > 6 ? 6 : x;
  }
  template <class T>
  static T derivative(T y) {
    return y > 0 && y < 6 ? 1 : 0;
  }
};

struct selu {
  static constexpr std::string_view kind_name = "selu";
  static constexpr double alpha = 1.6732632423543772848;
  static constexpr double lambda = 1.0507009873554804934;
  template <class T>
  static T value(T x) {
    return x > 0 ? T(lambda) * x : T(lambda * alpha) * std::expm1(x);
  }
  template <class T>
  static T derivative(T y) {
    return y > 0 ? T(lambda) : y + T(lambda * alpha);
  }
};

struct softplus {
  static constexpr std::string_view kind_name = "softplus";
  /// The exponential is only computed for −|x|, so it cannot overflow.
  template <class T>
  static T value(T x) {
    return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
  }
  template <class T>
  static T derivative(T x, T) {
    return sigmoid::value(x);
  }
};

struct swish {
  static constexpr std::string_view kind_name = "swish";
  template <class T>
  static T value(T x) {
    return x * sigmoid::value(x);
  }
  template <class T>
  static T derivative(T x, T y) {
    T const s = sigmoid::value(x);
    return s + y * (1 - s);
  }
};

struct gelu {
  static constexpr std::string_view kind_name = "gelu";
  template <class T>
  static T value(T x) {
    return x * normal_cdf(x);
  }
  template <class T>
  static T derivative(T x, T) {
    T const density = std::exp(-x * x / 2) * T(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return normal_cdf(x) + x * density;
  }

 private:
  /// Φ(x) = ½·erfc(−x/√2), accurate also for x ≪ 0.
  template <class T>
  static T normal_cdf(T x) {
    return std::erfc(-x / std::numbers::sqrt2_v<T>) / 2;
  }
};

struct mish {
  static constexpr std::string_view kind_name = "mish";
  template <class T>
  static T value(T x) {
    return x * gate(x);
  }
  template <class T>
  static T derivative(T x, T) {
    T const t = gate(x);
    return t + x * sigmoid::value(x) * (1 - t) * (1 + t);
  }

 private:
  /// tanh(softplus(x)) = ((1 + e^x)² − 1) / ((1 + e^x)² + 1), computed from e^−|x|: no overflow and one
  /// exponential.
  template <class T>
  static T gate(T x) {
    T const e = std::exp(-std::abs(x));
    T const difference = x < 0 ? e * (e + 2) : 1 + 2 * e;
    return difference / (difference + 2 * (x < 0 ? 1 : e * e));
  }
};

}  // namespace formula

/// x clipped to [0, 6]. The derivative at both ends is 0.
using relu6 = pointwise<formula::relu6>;

/// λ·x if x > 0, else λ·α·(e^x − 1). α and λ have the values that preserve mean 0 and variance 1.
///
/// Source    Klambauer, Unterthiner, Mayr and Hochreiter, NIPS 2017.
using selu = pointwise<formula::selu>;

/// ln(1 + e^x)
using softplus = pointwise<formula::softplus>;

/// x·sigmoid(x); also called SiLU.
using swish = pointwise<formula::swish>;

/// x·Φ(x), with the exact normal distribution function Φ, not the tanh approximation.
///
/// Source    Hendrycks and Gimpel, 2016.
using gelu = pointwise<formula::gelu>;

/// x·tanh(softplus(x))
///
/// Source    Misra, BMVC 2020.
using mish = pointwise<formula::mish>;

/// x if x > 0, else α·(e^x − 1).
///
/// Source    Clevert, Unterthiner and Hochreiter, ICLR 2016.
struct elu {
  static constexpr std::string_view kind_name = "elu";
  static constexpr bool in_place = true;

  double alpha = 1;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return std::tuple{field{"alpha", &elu::alpha}}; }
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

}  // namespace cohort
