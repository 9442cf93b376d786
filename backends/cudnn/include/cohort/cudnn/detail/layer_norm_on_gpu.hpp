// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/layer_norm.hpp>

namespace cohort::detail {

/// Prepares a layer norm with the kernels of a batch norm: each normalised row is processed as a channel. For
/// the gradients of scale and shift, a row is processed as an example whose elements are channels. Forward
/// stores the rows' means and variances in the workspace.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, layer_norm const& layer);

}  // namespace cohort::detail
