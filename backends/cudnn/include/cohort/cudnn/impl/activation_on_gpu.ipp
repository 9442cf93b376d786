// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/activation_on_gpu.hpp>
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>

namespace cohort::detail {

kernels::selu_curve curve_of(selu const&) {
  return {static_cast<float>(formula::selu::lambda), static_cast<float>(formula::selu::alpha)};
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, identity_activation const&) {
  return prepare_copy(where.stream, request);
}

}  // namespace cohort::detail
