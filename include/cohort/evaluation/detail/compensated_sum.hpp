// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>

namespace cohort::detail {

/// Compensated sum of doubles (Neumaier, 1974). The order of the terms affects only the last bits.
struct compensated_sum {
  double sum = 0;
  double compensation = 0;

  void add(double term);
  void add(compensated_sum const& other);
  double value() const { return sum + compensation; }
};

}  // namespace cohort::detail
