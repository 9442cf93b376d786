// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/layer_norm.hpp>

namespace cohort::detail {

/// Normalises rows of `places` elements, like a batch norm normalises channels. For the gradients of scale
/// and shift, rows are examples and their elements are channels. Forward stores the rows' means and variances
/// in the workspace.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, layer_norm const& layer);

}  // namespace cohort::detail
