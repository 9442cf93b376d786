// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>

namespace cohort::detail {

struct training_state;

/// See training::loss_of.
double loss_of(training_state& run, batch_view data);

}  // namespace cohort::detail
