// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/arithmetic.hpp>
#include <cohort/layer/join.hpp>

namespace cohort::detail {

/// Two inputs by one kernel; a sum of more is rounded after each.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, add const&);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, average const& layer);

/// Backward without a quotient: an input may hold zeros.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, multiply const& layer);

/// Forward leaves in the workspace whose elements were the largest.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, maximum const& layer);

/// An example's part of each input is a row of the output; channels last, a place's part.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, concatenate const&);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/joining_on_gpu.ipp>
#endif
