// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/arithmetic.hpp>
#include <cohort/layer/join.hpp>

namespace cohort::detail {

/// One kernel adds two inputs. With more inputs the sum is rounded to the layout's type after each.
///
/// Errors    backend_error naming the layer for broadcast inputs; so does `multiply`.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, add const&);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, average const& layer);

/// Backward multiplies the other inputs instead of dividing, because an input may contain zeros.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, multiply const& layer);

/// Forward stores the index of the largest input of each element in the workspace.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, maximum const& layer);

/// Copies each input's part of an example into a row of the output. If channels last, copies the part of each
/// position.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, concatenate const&);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/joining_on_gpu.ipp>
#endif
