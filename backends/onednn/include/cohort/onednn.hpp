// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort {

/// The CPU tensor backends: onednn computes in f32, onednn_bf16 in bf16 with f32 parameters.
static_assert(tensor_backend<onednn>);

}  // namespace cohort

#include <cohort/training/detail/backend_handle.hpp>

template <>
inline constexpr bool cohort::detail::has_compiled_plans<cohort::onednn> = true;
template <>
inline constexpr bool cohort::detail::has_compiled_plans<cohort::onednn_bf16> = true;

namespace cohort {

COHORT_PLANS(extern, onednn);
COHORT_PLANS(extern, onednn_bf16);

}  // namespace cohort
