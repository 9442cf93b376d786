// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/lrn.hpp>

namespace cohort::detail {

/// Prepares local response normalisation. Forward stores k + alpha·Σx² in the workspace.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, lrn const& layer);

}  // namespace cohort::detail
