// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/detail/primitive.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Layout of a layer's workspace: means, variances and oneDNN's own workspace, one after another, each
/// aligned to cache lines.
struct statistics_workspace {
  std::size_t offset = 0;
  memory_layout whole{};

  explicit statistics_workspace(std::int64_t count, std::size_t workspace_bytes = 0);
  dnnl_argument mean() const { return {operand_role::workspace, 0, DNNL_ARG_MEAN, whole, 0}; }
  dnnl_argument variance() const { return {operand_role::workspace, 0, DNNL_ARG_VARIANCE, whole, offset}; }
  dnnl_argument dnnl_workspace() const {
    return {operand_role::workspace, 0, DNNL_ARG_WORKSPACE, whole, 2 * offset};
  }
};

/// Returns a kernel that copies the batch's statistics from the workspace, where forward has stored them, to
/// the gradients of the running statistics (batch_statistics).
invocation<onednn> write_statistics(operation_request<onednn> const& request,
                                    statistics_workspace const& memory, memory_layout const& each);

}  // namespace cohort::detail
