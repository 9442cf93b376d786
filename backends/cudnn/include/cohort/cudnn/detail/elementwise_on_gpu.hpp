// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/reshape.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, relu const&);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, leaky_relu const& layer);

/// Returns a function that copies argument 0 to argument 1. The function does nothing if both have the same
/// address.
host_function copy_on_gpu(shared_stream const& on, gpu_layout const& layout);

/// Returns a function that converts a tensor from one layout to another.
host_function reorder_on_gpu(shared_stream const& on, gpu_layout const& from, gpu_layout const& to);

/// Prepares a layer that copies its elements in order; if it runs in place, nothing is copied. `from`: layout
/// in which the input is copied.
gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request, gpu_layout const& from);

/// Like the overload with `from`, where `from` is the input's layout, or channels first if the shape changes.
gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request);

gpu_operation prepare(gpu_target const& where, gpu_request const& request, reshape const&);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, flatten const&);

}  // namespace cohort::detail
