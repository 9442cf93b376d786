// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/gru.hpp>
#include <cohort/layer/lstm.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/layer/simple_rnn.hpp>

namespace cohort::detail {

/// Prepare recurrent layers. Each step is a matrix product by cuBLASLt and a kernel. A gru with the reset
/// before the product has two products and two kernels per step; recurrent dropout adds a kernel.
///
/// One product for the inputs of all steps precedes the loop over the steps; the products for the gradients
/// of weights and inputs follow it. Arrays are steps × rows × columns. The rows of a step are the examples,
/// padded to a multiple of 16, so that each step's arrays are aligned. Masked steps are computed and
/// discarded. Tensors are f32; products are f32, or TF32 for cudnn_tf32 and cudnn_bf16.
///
/// Order     a forward pass that carries states copies the states from and to the processor, and waits for
///           the GPU.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, simple_rnn const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, lstm const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, gru const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, recurrent_output const& layer);

}  // namespace cohort::detail
