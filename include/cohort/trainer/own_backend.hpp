// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cohort/trainer/impl/backend_handle.tpp>

/// Programs that use the compiled library with a user-defined tensor backend include this header to train or
/// to make plans. The compiled library contains only the plans of the shipped backends. Header-only programs
/// do not need this header.

#ifdef COHORT_CORE_COMPILED
#include <cohort/backend/reference.hpp>

namespace cohort {

COHORT_PLANS(extern, reference<float>);
COHORT_PLANS(extern, reference<double>);

}  // namespace cohort
#endif
