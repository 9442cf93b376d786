// SPDX-License-Identifier: Apache-2.0
// Plans and parameters of the reference backends.
#include <cohort/backend/reference.hpp>
#include <cohort/training/impl/backend_handle.tpp>

namespace cohort {

template class parameter_store<reference<float>>;
template class parameter_store<reference<double>>;
COHORT_PLANS(, reference<float>);
COHORT_PLANS(, reference<double>);

}  // namespace cohort
