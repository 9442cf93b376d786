// SPDX-License-Identifier: Apache-2.0
// The plans and parameter stores of this component's backends.
#include <cohort/cudnn.hpp>
#include <cohort/training/impl/backend_handle.tpp>

namespace cohort {

template class parameter_store<cudnn>;
template class parameter_store<cudnn_tf32>;
template class parameter_store<cudnn_bf16>;
COHORT_PLANS(, cudnn);
COHORT_PLANS(, cudnn_tf32);
COHORT_PLANS(, cudnn_bf16);

}  // namespace cohort
