// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/reference.hpp>
#include <cohort/training/impl/backend_handle.tpp>

/// Programs that define a tensor backend include this header to train or to make plans. The
/// implementation contains only the plans of the shipped backends.

namespace cohort {

COHORT_PLANS(extern, reference<float>);
COHORT_PLANS(extern, reference<double>);

}  // namespace cohort
