// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <string_view>

namespace cohort::detail::formula {

struct sigmoid {
  static constexpr std::string_view kind_name = "sigmoid";
  template <class T>
  static T value(T x) {
    return 1 / (1 + std::exp(-x));
  }
  template <class T>
  static T derivative(T y) {
    return y * (1 - y);
  }
};

struct hard_sigmoid {
  static constexpr std::string_view kind_name = "hard_sigmoid";
  template <class T>
  static T value(T x) {
    T const line = T(0.2) * x + T(0.5);
    return line < 0 ? 0 : line > 1 ? 1 : line;
  }
  template <class T>
  static T derivative(T y) {
    return y > 0 && y < 1 ? T(0.2) : 0;
  }
};

struct tanh {
  static constexpr std::string_view kind_name = "tanh";
  template <class T>
  static T value(T x) {
    return std::tanh(x);
  }
  template <class T>
  static T derivative(T y) {
    return (1 - y) * (1 + y);
  }
};

struct hard_tanh {
  static constexpr std::string_view kind_name = "hard_tanh";
  template <class T>
  static T value(T x) {
    return x < -1 ? -1 : x > 1 ? 1 : x;
  }
  template <class T>
  static T derivative(T y) {
    return y > -1 && y < 1 ? 1 : 0;
  }
};

struct softsign {
  static constexpr std::string_view kind_name = "softsign";
  template <class T>
  static T value(T x) {
    return x / (1 + std::abs(x));
  }
  /// Computed from x, not from y: for large |x|, 1 − |y| has no significant digits, but the derivative is
  /// still not negligible.
  template <class T>
  static T derivative(T x, T) {
    T const slope = 1 / (1 + std::abs(x));
    return slope * slope;
  }
};

}  // namespace cohort::detail::formula
