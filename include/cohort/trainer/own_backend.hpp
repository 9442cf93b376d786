// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cohort/trainer/impl/backend_handle.tpp>

/// Include this header to train, or to make plans, with the compiled library on a user-defined tensor
/// backend. The compiled library contains only the plans of the shipped backends. Header-only programs do not
/// need this header.

#ifdef COHORT_CORE_COMPILED
#include <cohort/backend/reference.hpp>

namespace cohort {

COHORT_PLANS(extern, reference<float>);
COHORT_PLANS(extern, reference<double>);

}  // namespace cohort
#endif
