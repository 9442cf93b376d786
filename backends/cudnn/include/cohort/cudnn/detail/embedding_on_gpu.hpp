// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/embedding.hpp>

namespace cohort::detail {

/// Prepares an embedding. Forward blocks until the GPU has checked that all indices are in the vocabulary.
///
/// Errors    as the embedding layer.
/// Exact     gradients are added in the order of the examples.
/// Cost      forward copies 4 bytes to the processor. Backward compares each index with the following
///           indices, up to the next equal one.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, embedding const& layer);

}  // namespace cohort::detail
