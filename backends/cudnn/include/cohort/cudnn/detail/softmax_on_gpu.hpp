// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/kullback_leibler.hpp>
#include <cohort/layer/softmax.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, softmax const& layer);

gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                      softmax_cross_entropy const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, kullback_leibler const& layer);

}  // namespace cohort::detail
