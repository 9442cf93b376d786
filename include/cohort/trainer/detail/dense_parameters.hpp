// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// All parameters of a run at one step, as dense tensors in canonical order.
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
  /// The norm of one parameter: the square root of the sum of squares.
  double norm_of(parameter const& one) const;
  /// The change of one parameter since `before`, which holds the same parameters.
  std::vector<double> change_of(parameter const& one, dense_parameters const& before) const;

 private:
  std::int64_t step_ = -1;
  element_type type_ = element_type::f32;
  std::vector<std::byte> values_{};
};

/// The square root of the sum of squares.
double euclidean_norm(std::span<double const> numbers);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/dense_parameters.ipp>
#endif
