// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/prelu.hpp>

namespace cohort::detail {

/// Prepares a rectifier with learned slopes. A single slope is processed as if each example had one channel.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, prelu const& layer);

}  // namespace cohort::detail
