// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/prelu.hpp>

namespace cohort::detail {

/// As a rectifier whose slopes are parameters. One slope for all is that of one channel.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, prelu const& layer);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/prelu_on_gpu.ipp>
#endif
