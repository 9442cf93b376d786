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
  /// Returns the numbers of one parameter.
  std::vector<double> of(parameter const& one) const;

 private:
  std::int64_t step_ = -1;
  element_type type_ = element_type::f32;
  std::vector<std::byte> values_{};
};

/// The square root of the sum of squares.
double euclidean_norm(std::span<double const> numbers);

/// Differences of two arrays of equal size, now − before.
std::vector<double> difference(std::span<double const> now, std::span<double const> before);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/dense_parameters.ipp>
#endif
