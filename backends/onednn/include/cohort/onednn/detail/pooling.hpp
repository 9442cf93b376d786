// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/detail/convolution.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

/// Prepares pooling over a sliding window. Returns nothing if oneDNN has no optimised implementation.
///
/// Shapes    `dst`: extents of the primitive's output, batch first. If they differ from the plan's, the
///           output is dense.
std::optional<backend_operation<onednn>> prepare_pool(dnnl_engine_handle const& engine,
                                                      operation_request<onednn> const& request,
                                                      dnnl_alg_kind_t algorithm, dnnl_window const& w,
                                                      std::vector<dnnl_dim_t> const& dst, double flops);

/// Prepares a pool. Returns nothing if the step is not a pool or has to run in the host's kernels.
///
/// Errors    backend_error for a max_pool without an optimised implementation: the host has no kernels for
///           it.
std::optional<backend_operation<onednn>> prepare_pool(dnnl_engine_handle const& engine,
                                                      operation_request<onednn> const& request);

}  // namespace cohort::detail
