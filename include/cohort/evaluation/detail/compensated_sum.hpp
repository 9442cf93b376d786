// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// A sum of many doubles that does not depend on their order beyond its last bits (Neumaier, 1974).
struct compensated_sum {
  double sum = 0;
  double lost = 0;

  void add(double term);
  void add(compensated_sum const& other);
  double value() const { return sum + lost; }
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/evaluation/impl/compensated_sum.ipp>
#endif
