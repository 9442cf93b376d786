// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Returns the square root of the sum of squares.
template <class T>
double euclidean_norm(std::span<T const> numbers) {
  double sum = 0;
  for (double const one : numbers) sum += one * one;
  return std::sqrt(sum);
}

/// Copy of all parameters of a run at one step, as dense tensors in canonical layout.
class dense_parameters {
 public:
  dense_parameters() = default;
  /// `step`: number of updates so far.
  dense_parameters(parameter_set const& all, std::int64_t step);

  std::int64_t step() const { return step_; }
  /// Calls f with the numbers of one parameter: a span of float or double.
  template <class F>
  decltype(auto) visit(parameter const& one, F f) const {
    return with_real(type_, [&]<class T>(T*) -> decltype(auto) {
      return f(std::span<T const>(reinterpret_cast<T const*>(values_.data()) + one.first,
                                  static_cast<std::size_t>(one.spec.dims.elements())));
    });
  }
  double norm_of(parameter const& one) const {
    return visit(one, [](auto numbers) { return euclidean_norm(numbers); });
  }
  /// Returns the change of one parameter since `before`, a copy of the same run's parameters.
  std::vector<double> change_of(parameter const& one, dense_parameters const& before) const;

 private:
  std::int64_t step_ = -1;
  element_type type_ = element_type::f32;
  std::vector<std::byte> values_{};
};

}  // namespace cohort::detail
