// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

namespace detail {

constexpr inference equal_shapes(std::span<shape const> inputs, char const* sentence) {
  for (shape const& other : inputs)
    if (!(other == inputs[0])) return {sentence, {"left", inputs[0]}, {"right", other}};
  return inputs[0];
}

constexpr double flops_of_join(std::span<shape const> inputs) {
  return static_cast<double>(inputs.size() - 1) * static_cast<double>(inputs[0].elements());
}

}  // namespace detail

/// The product, element by element, of two or more tensors of equal shape. Written `a * b`.
struct multiply {
  static constexpr std::string_view kind_name = "multiply";
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::equal_shapes(inputs, "only tensors of equal shape can be multiplied");
  }
  constexpr double flops(std::span<shape const> inputs) const { return detail::flops_of_join(inputs); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    product(a, a.input_shapes.size(), a.inputs[0], a.output);
  }
  /// Without a quotient: an input may hold zeros.
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
      if (a.diff_inputs[x]) product(a, x, a.diff_output, a.diff_inputs[x]);
  }

 private:
  /// to ← from · all inputs but `left_out`; `from` is the first input where none is left out.
  template <class T>
  static void product(host_arguments<T> const& a, std::size_t left_out, T const* from, T* to) {
    std::size_t const count = a.elements_of_output(), inputs = a.input_shapes.size();
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
    for (std::size_t x = left_out == inputs ? 1 : 0; x < inputs; ++x)
      for (std::size_t i = 0; x != left_out && i < count; ++i) to[i] *= a.inputs[x][i];
  }
};

/// The mean, element by element, of two or more tensors of equal shape: join(average{}, a, b).
struct average {
  static constexpr std::string_view kind_name = "average";
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::equal_shapes(inputs, "only tensors of equal shape can be averaged");
  }
  constexpr double flops(std::span<shape const> inputs) const { return detail::flops_of_join(inputs); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    T const share = 1 / static_cast<T>(a.input_shapes.size());
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) {
      T sum = a.inputs[0][i];
      for (std::size_t x = 1; x < a.input_shapes.size(); ++x) sum += a.inputs[x][i];
      a.output[i] = share * sum;
    }
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    T const share = 1 / static_cast<T>(a.input_shapes.size());
    for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
      for (std::size_t i = 0; a.diff_inputs[x] && i < a.elements_of_output(); ++i)
        a.diff_inputs[x][i] = share * a.diff_output[i];
  }
};

/// The largest, element by element, of two or more tensors of equal shape: join(maximum{}, a, b).
///
/// Exact     of equal elements the first input's takes the whole gradient.
struct maximum {
  static constexpr std::string_view kind_name = "maximum";
  static constexpr int max_inputs = 64;

  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::equal_shapes(inputs, "only tensors of equal shape have a maximum");
  }
  constexpr double flops(std::span<shape const> inputs) const { return detail::flops_of_join(inputs); }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) a.output[i] = a.inputs[largest(a, i)][i];
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) {
      std::size_t const taken = largest(a, i);
      for (std::size_t x = 0; x < a.input_shapes.size(); ++x)
        if (a.diff_inputs[x]) a.diff_inputs[x][i] = x == taken ? a.diff_output[i] : 0;
    }
  }

 private:
  /// The first input that holds element i's largest. What is no number is larger than any: it is not to vanish.
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

}  // namespace cohort
