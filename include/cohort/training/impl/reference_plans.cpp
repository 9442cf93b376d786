// SPDX-License-Identifier: Apache-2.0
// Plans and parameters of the reference backends.
#include <cohort/training/own_backend.hpp>

namespace cohort {

template class parameter_store<reference<float>>;
template class parameter_store<reference<double>>;
COHORT_PLANS(, reference<float>);
COHORT_PLANS(, reference<double>);

}  // namespace cohort
