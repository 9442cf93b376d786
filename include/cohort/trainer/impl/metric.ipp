// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/metric.hpp>
#include <limits>
#include <utility>

namespace cohort {

COHORT_CORE_INLINE metric accuracy_on(dataset data, evaluation_settings how) {
  return {.name = "accuracy", .of = [data = std::move(data), how](training& run) {
            return run.evaluate(data, how).accuracy().value_or(std::numeric_limits<double>::quiet_NaN());
          }};
}

COHORT_CORE_INLINE metric log_loss_on(dataset data, evaluation_settings how) {
  return {.name = "log loss",
          .of =
              [data = std::move(data), how](training& run) {
                return run.evaluate(data, how).log_loss().value_or(std::numeric_limits<double>::quiet_NaN());
              },
          .more_is_better = false};
}

}  // namespace cohort
