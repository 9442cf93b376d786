// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/dense.hpp>

namespace cohort::detail {

/// Prepares a dense layer, computed by cuBLASLt. Because cuBLASLt is column-major, a batch of N rows of I
/// elements is passed as a matrix I×N, and weights U×I as a matrix I×U.
///
/// In bf16, cuBLASLt also reads a bf16 working copy of the bias. The gradients of the parameters are f32.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, dense const& layer);

}  // namespace cohort::detail
