// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/avg_pool.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/layer/max_pool.hpp>
#include <cohort/layer/upsampling.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, max_pool const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, avg_pool const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, global_max_pool const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, global_avg_pool const& layer);

/// Prepares upsampling. Forward is the gradient of a sum pool with disjoint windows; backward is this sum
/// pool.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, upsampling const& layer);

}  // namespace cohort::detail
