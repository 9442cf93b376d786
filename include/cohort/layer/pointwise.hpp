// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <concepts>
#include <cstddef>

namespace cohort {

namespace detail {

/// The derivative is a function of y only.
template <class F>
concept derived_from_output = requires(F const& f, float narrow, double wide) {
  { f.derivative(narrow) } -> std::same_as<float>;
  { f.derivative(wide) } -> std::same_as<double>;
};
/// The derivative is a function of x and y.
template <class F>
concept derived_from_both = requires(F const& f, float narrow, double wide) {
  { f.derivative(narrow, narrow) } -> std::same_as<float>;
  { f.derivative(wide, wide) } -> std::same_as<double>;
};

}  // namespace detail

/// Formula of an activation: y = value(x) for each element. If y determines dy/dx, the formula has
/// derivative(y), and the layer can work in place. Otherwise it has derivative(x, y).
template <class F>
concept pointwise_formula = requires(F const& f, float narrow, double wide) {
  { f.value(narrow) } -> std::same_as<float>;
  { f.value(wide) } -> std::same_as<double>;
}
&&(detail::derived_from_output<F> || detail::derived_from_both<F>);

namespace detail {

template <pointwise_formula F, class T>
void forward_pointwise(F const& f, host_arguments<T> const& a) {
  std::size_t const count = a.elements_of_output();
  T const* const x = a.inputs[0];
  T* const y = a.output;
  for (std::size_t i = 0; i < count; ++i) y[i] = f.value(x[i]);
}

template <pointwise_formula F, class T>
void backward_pointwise(F const& f, host_arguments<T> const& a) {
  std::size_t const count = a.elements_of_output();
  T const *const x = a.inputs[0], *const y = a.output, *const diff_output = a.diff_output;
  T* const diff_input = a.diff_inputs[0];
  for (std::size_t i = 0; diff_input && i < count; ++i) {
    if constexpr (derived_from_output<F>)
      diff_input[i] = diff_output[i] * f.derivative(y[i]);
    else
      diff_input[i] = diff_output[i] * f.derivative(x[i], y[i]);
  }
}

}  // namespace detail

/// An activation without fields. `F` provides the formula and the kind name.
///
/// Shapes    any; the output has the shape of the input.
template <pointwise_formula F>
struct pointwise {
  static constexpr std::string_view kind_name = F::kind_name;
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool in_place = detail::derived_from_output<F>;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::forward_pointwise(F{}, a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::backward_pointwise(F{}, a);
  }
};

namespace detail::formula {

struct identity {
  static constexpr std::string_view kind_name = "identity";
  template <class T>
  static constexpr T value(T x) {
    return x;
  }
  template <class T>
  static constexpr T derivative(T) {
    return 1;
  }
};

}  // namespace detail::formula

/// y = x. Gives a name to a tensor.
using identity_activation = pointwise<detail::formula::identity>;

extern template struct detail::host_kernels<identity_activation>;

}  // namespace cohort
