// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/embedding.hpp>

namespace cohort::detail {

/// Forward waits until the GPU has seen that all indices are in the vocabulary.
///
/// Errors    embedding's.
/// Exact     gradients are added in the order of the examples.
/// Moves     4 bytes a forward. Backward compares each index with those behind it, up to the next one that is the same.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, embedding const& layer);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/embedding_on_gpu.ipp>
#endif
