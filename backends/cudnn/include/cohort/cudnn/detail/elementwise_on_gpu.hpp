// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/reshape.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, relu const&);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, leaky_relu const& layer);

/// Nothing is done where both are one.
host_function copy_on_gpu(shared_stream const& on, gpu_layout const& lies);

/// From one layout of a tensor into another.
host_function reorder_on_gpu(shared_stream const& on, gpu_layout const& from, gpu_layout const& to);

/// The same elements in the same order; where the layer works in place, at no cost.
gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request, gpu_layout const& from);

/// As the input lies; but where the shape changes, channels come first.
gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, reshape const&);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, flatten const&);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/elementwise_on_gpu.ipp>
#endif
