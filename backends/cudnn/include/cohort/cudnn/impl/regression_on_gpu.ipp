// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/regression_on_gpu.hpp>

namespace cohort::detail {

kernels::distance_loss loss_of(huber const& layer) {
  auto const delta = static_cast<float>(layer.delta);
  return {delta, 0.5F, delta, delta / 2};
}

}  // namespace cohort::detail
