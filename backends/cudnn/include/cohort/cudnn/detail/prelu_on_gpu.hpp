// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/prelu.hpp>

namespace cohort::detail {

/// A rectifier with learned slopes. With a single slope, each example is treated as one channel.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, prelu const& layer);

}  // namespace cohort::detail
