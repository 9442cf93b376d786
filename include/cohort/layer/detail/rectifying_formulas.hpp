// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/detail/bounded_formulas.hpp>
#include <numbers>
#include <string_view>

namespace cohort::detail::formula {

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

struct gelu_tanh {
  static constexpr std::string_view kind_name = "gelu_tanh";
  /// ½·x·(1 + tanh(u)) = x·sigmoid(2u), accurate also for x ≪ 0.
  template <class T>
  static T value(T x) {
    return x * gate(bounded(x));
  }
  template <class T>
  static T derivative(T x, T) {
    T const near = bounded(x), s = gate(near);
    return s + near * s * (1 - s) * 2 * root<T> * (1 + 3 * cubic<T> * near * near);
  }

 private:
  template <class T>
  static constexpr T root = T(std::numbers::inv_sqrtpi* std::numbers::sqrt2);  // √(2/π)
  template <class T>
  static constexpr T cubic = T(0.044715);

  /// Beyond ±30 the gate is 0 or 1, and the cube could overflow.
  template <class T>
  static T bounded(T x) {
    return x < -30 ? T(-30) : x > 30 ? T(30) : x;
  }
  template <class T>
  static T gate(T x) {
    return sigmoid::value(2 * root<T> * x * (1 + cubic<T> * x * x));
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
  /// tanh(softplus(x)) = ((1 + e^x)² − 1) / ((1 + e^x)² + 1). The computation uses only e^−|x|, so it needs
  /// one exponential and does not overflow.
  template <class T>
  static T gate(T x) {
    T const e = std::exp(-std::abs(x));
    T const difference = x < 0 ? e * (e + 2) : 1 + 2 * e;
    return difference / (difference + 2 * (x < 0 ? 1 : e * e));
  }
};

}  // namespace cohort::detail::formula
