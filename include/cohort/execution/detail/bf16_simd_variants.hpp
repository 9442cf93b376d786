// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>

/// The functions of bf16_simd_variants.inc, compiled for each instruction set.
namespace cohort::detail {

#define COHORT_SIMD_BODY <cohort/execution/detail/bf16_simd_variants.inc>
#include <cohort/detail/simd_variants.inc>

}  // namespace cohort::detail
