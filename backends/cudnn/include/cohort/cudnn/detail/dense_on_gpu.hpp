// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/dense.hpp>

namespace cohort::detail {

/// Rows of a tensor are columns for cuBLASLt: a batch of N rows of I elements is a matrix I×N, weights U×I one of I×U.
///
/// In bf16 cuBLASLt reads a working copy of the bias in bf16 too; the gradients of the parameters are f32 all the same.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, dense const& layer);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/dense_on_gpu.ipp>
#endif
