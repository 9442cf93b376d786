// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/layer/dropout.hpp>
#include <cohort/layer/gaussian_noise.hpp>

namespace cohort::detail {

/// Random numbers of a layer, the same as on the processor.
class random_on_gpu {
 public:
  explicit random_on_gpu(gpu_request const& request) : purpose_(purpose_of("layer", request.name)) {}

  kernels::random_examples draw(void const* scalars) const;

 private:
  std::uint64_t purpose_;
};

gpu_operation prepare(gpu_target const& where, gpu_request const& request, dropout const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, spatial_dropout const& layer);

/// Prepares additive noise. Normal variates are computed in double, as on the processor. Backward copies the
/// gradient.
gpu_operation prepare(gpu_target const& where, gpu_request const& request, gaussian_noise const& layer);

}  // namespace cohort::detail
