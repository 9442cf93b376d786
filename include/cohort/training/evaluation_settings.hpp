// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/sharding.hpp>

namespace cohort {

/// Settings of an evaluation.
///
/// Units     `batch`: examples per mini-batch and rank. `top`: N of the additional top-N accuracy; for 1, no
///           additional accuracy is computed. `sharding`, `readers`: see fit_settings.
struct evaluation_settings {
  int batch = 256;
  int top = 1;
  cohort::sharding sharding = cohort::sharding::global;
  int readers = 1;
};

}  // namespace cohort
