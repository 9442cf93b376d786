// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>

namespace cohort::detail {

/// Sum of many doubles. Their order affects only the last bits (Neumaier, 1974).
struct compensated_sum {
  double sum = 0;
  double compensation = 0;

  void add(double term);
  void add(compensated_sum const& other);
  double value() const { return sum + compensation; }
};

}  // namespace cohort::detail
