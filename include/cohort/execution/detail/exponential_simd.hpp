// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/detail/simd_vector.hpp>

/// The function exponential(x), compiled for each instruction set.
namespace cohort::detail {

#define COHORT_SIMD_BODY <cohort/execution/detail/exponential_simd.inc>
#include <cohort/detail/simd_variants.inc>

}  // namespace cohort::detail
