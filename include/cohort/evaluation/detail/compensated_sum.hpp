// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

namespace cohort::detail {

/// A sum of many doubles that does not depend on their order beyond its last bits (Neumaier, 1974).
struct compensated_sum {
  double sum = 0;
  double lost = 0;

  void add(double term) {
    double const total = sum + term;
    lost += std::abs(sum) >= std::abs(term) ? (sum - total) + term : (term - total) + sum;
    sum = total;
  }
  void add(compensated_sum const& other) {
    double const also_lost = other.lost;
    add(other.sum);
    lost += also_lost;
  }
  double value() const { return sum + lost; }
};

}  // namespace cohort::detail
