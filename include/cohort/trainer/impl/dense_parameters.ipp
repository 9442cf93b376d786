// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/dense_parameters.hpp>
#include <cstring>

namespace cohort::detail {

COHORT_CORE_INLINE dense_parameters::dense_parameters(parameter_set const& all, std::int64_t step)
    : step_(step), type_(all.type()) {
  values_.resize(static_cast<std::size_t>(all.elements()) * bytes_of(type_));
  all.read_all(all.master(), values_.data());
}

COHORT_CORE_INLINE std::vector<double> dense_parameters::of(parameter const& one) const {
  auto const count = static_cast<std::size_t>(one.spec.dims.elements());
  std::byte const* const from = values_.data() + static_cast<std::size_t>(one.first) * bytes_of(type_);
  std::vector<double> numbers(count);
  if (type_ == element_type::f64) {
    std::memcpy(numbers.data(), from, count * sizeof(double));
    return numbers;
  }
  std::vector<float> stored(count);
  std::memcpy(stored.data(), from, count * sizeof(float));
  numbers.assign(stored.begin(), stored.end());
  return numbers;
}

COHORT_CORE_INLINE double euclidean_norm(std::span<double const> numbers) {
  double sum = 0;
  for (double const one : numbers) sum += one * one;
  return std::sqrt(sum);
}

COHORT_CORE_INLINE std::vector<double> difference(std::span<double const> now,
                                                  std::span<double const> before) {
  std::vector<double> made(now.begin(), now.end());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] -= before[i];
  return made;
}

}  // namespace cohort::detail
