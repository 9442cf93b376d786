// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/training.hpp>
#include <functional>
#include <limits>
#include <string>
#include <utility>

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
inline metric accuracy_on(dataset data, evaluation_settings how = {}) {
  return {.name = "accuracy", .of = [data = std::move(data), how](training& run) {
            return run.evaluate(data, how).accuracy().value_or(std::numeric_limits<double>::quiet_NaN());
          }};
}

/// The mean over the data set's examples of −log p(label).
inline metric log_loss_on(dataset data, evaluation_settings how = {}) {
  return {.name = "log loss",
          .of =
              [data = std::move(data), how](training& run) {
                return run.evaluate(data, how).log_loss().value_or(std::numeric_limits<double>::quiet_NaN());
              },
          .more_is_better = false};
}

}  // namespace cohort
