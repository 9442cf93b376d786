// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled library's plans and parameters of the reference backends. No header includes this file.
#include <cohort/backend/reference.hpp>
#include <cohort/trainer/impl/backend_handle.tpp>

namespace cohort {

template class parameter_store<reference<float>>;
template class parameter_store<reference<double>>;
COHORT_PLANS(, reference<float>);
COHORT_PLANS(, reference<double>);

}  // namespace cohort
