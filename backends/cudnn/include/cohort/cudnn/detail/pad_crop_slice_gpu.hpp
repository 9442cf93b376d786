// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/subset.hpp>
#include <cohort/layer/zero_padding.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, zero_padding const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, cropping const& layer);

/// Prepares a copy of the selected channels, which are contiguous in each example.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, subset const& layer);

}  // namespace cohort::detail
