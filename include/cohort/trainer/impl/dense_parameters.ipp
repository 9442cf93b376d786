// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/dense_parameters.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE dense_parameters::dense_parameters(parameter_set const& all, std::int64_t step)
    : step_(step), type_(all.type()) {
  values_.resize(static_cast<std::size_t>(all.elements()) * bytes_of(type_));
  all.read_all(all.master(), values_.data());
}

COHORT_CORE_INLINE double dense_parameters::norm_of(parameter const& one) const {
  return visit(one, [](auto numbers) {
    double sum = 0;
    for (double const number : numbers) sum += number * number;
    return std::sqrt(sum);
  });
}

COHORT_CORE_INLINE std::vector<double> dense_parameters::change_of(parameter const& one,
                                                                   dense_parameters const& before) const {
  std::vector<double> made;
  visit(one, [&](auto numbers) { made.assign(numbers.begin(), numbers.end()); });
  before.visit(one, [&](auto numbers) {
    for (std::size_t i = 0; i < made.size(); ++i) made[i] -= static_cast<double>(numbers[i]);
  });
  return made;
}

COHORT_CORE_INLINE double euclidean_norm(std::span<double const> numbers) {
  double sum = 0;
  for (double const one : numbers) sum += one * one;
  return std::sqrt(sum);
}

}  // namespace cohort::detail
