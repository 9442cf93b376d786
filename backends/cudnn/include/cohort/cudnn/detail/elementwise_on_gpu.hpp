// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/reshape.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, relu const&);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, leaky_relu const& layer);

/// Returns a copy from argument 0 to argument 1; no operation if they are the same address.
host_function copy_on_gpu(shared_stream const& on, gpu_layout const& layout);

/// Returns a conversion from one layout of a tensor to another.
host_function reorder_on_gpu(shared_stream const& on, gpu_layout const& from, gpu_layout const& to);

/// Copies the elements in order; free if the layer works in place.
gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request, gpu_layout const& from);

/// The same in the input's layout, or channels first if the shape changes.
gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, reshape const&);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, flatten const&);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/elementwise_on_gpu.ipp>
#endif
