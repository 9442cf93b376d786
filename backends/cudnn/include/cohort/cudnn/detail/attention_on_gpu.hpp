// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/attention.hpp>

namespace cohort::detail {

/// Prepares attention, computed head by head, for all examples at once. Batched products by cuBLASLt compute
/// the scores, the outputs and the gradients; kernels compute the softmax. Tensors are f32; products are f32,
/// or TF32 for cudnn_tf32 and cudnn_bf16.
///
/// Cost      scratch memory of examples · S · T elements; with rotary positions also copies of queries and
///           keys. Backward needs twice as much, and recomputes the scores.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, attention const& layer);

}  // namespace cohort::detail
