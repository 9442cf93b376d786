// SPDX-License-Identifier: Apache-2.0
// The plans and parameter stores of this component's backends.
#include <cohort/onednn.hpp>
#include <cohort/training/impl/backend_handle.tpp>

namespace cohort {

template class parameter_store<onednn>;
template class parameter_store<onednn_bf16>;
COHORT_PLANS(, onednn);
COHORT_PLANS(, onednn_bf16);

}  // namespace cohort
