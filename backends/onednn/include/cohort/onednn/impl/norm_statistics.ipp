// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/onednn/detail/norm_statistics.hpp>
#include <span>

namespace cohort::detail {

statistics_workspace::statistics_workspace(std::int64_t count, std::size_t workspace_bytes) {
  dnnl_dim_t const padded_count = (count + 15) / 16 * 16;
  offset = static_cast<std::size_t>(padded_count) * sizeof(float);
  whole =
      memory_layout::dense({2 * padded_count + static_cast<dnnl_dim_t>(workspace_bytes / sizeof(float)) + 1});
}

invocation<onednn> write_statistics(operation_request<onednn> const& request,
                                    statistics_workspace const& memory, memory_layout const& each) {
  using enum operand_role;
  auto const run = [channels = static_cast<std::size_t>(request.input_shapes[0][0]),
                    variance_offset = memory.offset / sizeof(float)](std::span<void* const> a) {
    auto const* const mean = static_cast<float const*>(a[0]);
    std::copy_n(mean, channels, static_cast<float*>(a[1]));
    std::copy_n(mean + variance_offset, channels, static_cast<float*>(a[2]));
  };
  return {host_function(run),
          {{workspace, 0, memory.whole}, {diff_parameter, 2, each}, {diff_parameter, 3, each}},
          "host:running_statistics"};
}

}  // namespace cohort::detail
