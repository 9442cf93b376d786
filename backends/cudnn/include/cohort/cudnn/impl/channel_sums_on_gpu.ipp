// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/detail/config.hpp>

namespace cohort::detail {

COHORT_CUDNN_INLINE channel_sums_on_gpu::channel_sums_on_gpu(shared_stream on, gpu_layout const& tensor)
    : on_(std::move(on)) {
  terms_.channels = tensor.channels();
  terms_.area = tensor.area();
  terms_.count = tensor.elements() / terms_.channels;
  terms_.lanes = terms_.area == 1 ? std::bit_ceil(std::min<std::size_t>(terms_.channels, max_lanes)) : 1;
  std::size_t const rows = sum_chunk / terms_.lanes;
  terms_.chunks = (terms_.count + rows - 1) / rows;
}

COHORT_CUDNN_INLINE gpu_invocation channel_factor_gradient(channel_sums_on_gpu const& sums,
                                                           shape const& layout, shape const& each,
                                                           bool not_above_0) {
  using enum operand_role;
  return {[=](std::span<void* const> a) {
            sums.run(kernels::channel_product_sums{sums.terms(), tensor_at(a, 0), tensor_at(a, 1),
                                                   static_cast<double*>(a[3]), not_above_0},
                     tensor_at(a, 2));
          },
          {{input, 0, layout},
           {diff_output, 0, layout},
           {diff_parameter, 0, each},
           {scratch, 0, shape_for_bytes(sums.scratch_bytes())}},
          "nvrtc",
          2 * static_cast<double>(elements_of(layout))};
}

}  // namespace cohort::detail
