// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/batch_norm.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort::detail {

/// Means, variances and oneDNN's own notes in a layer's workspace, one behind the other, at whole cache lines.
struct statistics_workspace {
  std::size_t offset = 0;
  memory_layout whole{};

  explicit statistics_workspace(std::int64_t count, std::size_t bytes_of_notes = 0) {
    dnnl_dim_t const room = (count + 15) / 16 * 16;
    offset = static_cast<std::size_t>(room) * sizeof(float);
    whole = memory_layout::dense({2 * room + static_cast<dnnl_dim_t>(bytes_of_notes / sizeof(float)) + 1});
  }
  dnnl_argument mean() const { return {operand_role::workspace, 0, DNNL_ARG_MEAN, whole, 0}; }
  dnnl_argument variance() const { return {operand_role::workspace, 0, DNNL_ARG_VARIANCE, whole, offset}; }
  dnnl_argument notes() const { return {operand_role::workspace, 0, DNNL_ARG_WORKSPACE, whole, 2 * offset}; }
};

/// The gradients of the running statistics, from what forward left in the workspace.
inline invocation<onednn> statistics_moved(operation_request<onednn> const& request,
                                           statistics_workspace const& memory, memory_layout const& each) {
  using enum operand_role;
  auto const run = [batch = request.batch, channels = request.input_shapes[0][0],
                    behind = memory.offset / sizeof(float)](std::span<void* const> a) {
    auto const* const mean = static_cast<float const*>(a[0]);
    batch_norm::move_statistics(*static_cast<step_scalars const*>(a[2]), batch, channels, mean, mean + behind,
                                static_cast<float const*>(a[1]), static_cast<float*>(a[3]),
                                static_cast<float*>(a[4]));
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
