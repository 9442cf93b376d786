// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/training.hpp>
#include <functional>
#include <string>

namespace cohort {

/// A number that rates the current parameters of a run.
///
/// Order     `of` is collective, and returns the same number on every rank; NaN if there is none.
struct metric {
  std::string name{};
  std::function<double(training&)> of{};
  bool more_is_better = true;
};

/// Fraction of the data set's examples that are classified correctly.
metric accuracy_on(dataset data, evaluation_settings how = {});

/// Mean of −log p(label) over the data set's examples.
metric log_loss_on(dataset data, evaluation_settings how = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/metric.ipp>
#endif
