// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/training.hpp>
#include <functional>
#include <string>

namespace cohort {

/// A number by which the states of a run are compared.
///
/// Order     `of` is collective: all ranks call it together and get the same number. NaN: there is none.
struct metric {
  std::string name{};
  std::function<double(training&)> of{};
  bool more_is_better = true;
};

/// The share of the data set's examples that is classified right.
metric accuracy_on(dataset data, evaluation_settings how = {});

/// The mean over the data set's examples of −log p(label).
metric log_loss_on(dataset data, evaluation_settings how = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/metric.ipp>
#endif
