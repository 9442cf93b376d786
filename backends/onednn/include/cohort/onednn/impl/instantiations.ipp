// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plans and parameter stores of this component's backends in the compiled library.
// No header includes this file.
#include <cohort/detail/config.hpp>
#include <cohort/onednn.hpp>
#include <cohort/trainer/impl/backend_handle.tpp>

namespace cohort {

template class parameter_store<onednn>;
template class parameter_store<onednn_bf16>;
COHORT_PLANS(, onednn);
COHORT_PLANS(, onednn_bf16);

}  // namespace cohort
