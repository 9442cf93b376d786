// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/scale.hpp>

namespace cohort::detail {

/// Prepares a multiplication by one factor, or by one learned factor per channel.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, scale const& layer);

}  // namespace cohort::detail
