// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/onednn/detail/norm_statistics.hpp>
#include <span>

namespace cohort::detail {

COHORT_ONEDNN_INLINE statistics_workspace::statistics_workspace(std::int64_t count,
                                                                std::size_t workspace_bytes) {
  dnnl_dim_t const padded_count = (count + 15) / 16 * 16;
  offset = static_cast<std::size_t>(padded_count) * sizeof(float);
  whole =
      memory_layout::dense({2 * padded_count + static_cast<dnnl_dim_t>(workspace_bytes / sizeof(float)) + 1});
}

COHORT_ONEDNN_INLINE invocation<onednn> statistics_gradients(operation_request<onednn> const& request,
                                                             statistics_workspace const& memory,
                                                             memory_layout const& each, int steps) {
  using enum operand_role;
  auto const run = [batch = request.batch / steps, channels = request.input_shapes[0][0],
                    variance_offset = memory.offset / sizeof(float)](std::span<void* const> a) {
    auto const* const mean = static_cast<float const*>(a[0]);
    batch_norm::write_statistics_gradients(*static_cast<step_scalars const*>(a[2]), batch, channels, mean,
                                           mean + variance_offset, static_cast<float const*>(a[1]),
                                           static_cast<float*>(a[3]), static_cast<float*>(a[4]));
  };
  return {host_function(run),
          {{workspace, 0, memory.whole},
           {parameter, 2, each},
           {scalars, 0, {}},
           {diff_parameter, 2, each},
           {diff_parameter, 3, each}},
          "host:running_statistics"};
}

}  // namespace cohort::detail
