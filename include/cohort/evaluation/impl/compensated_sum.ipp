// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/evaluation/detail/compensated_sum.hpp>

namespace cohort::detail {

void compensated_sum::add(double term) {
  double const total = sum + term;
  compensation += std::abs(sum) >= std::abs(term) ? (sum - total) + term : (term - total) + sum;
  sum = total;
}

void compensated_sum::add(compensated_sum const& other) {
  double const other_compensation = other.compensation;
  add(other.sum);
  compensation += other_compensation;
}

}  // namespace cohort::detail
