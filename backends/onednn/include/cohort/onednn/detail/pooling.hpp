// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/detail/convolution.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

/// A window that moves over an image; nothing where oneDNN has no fit implementation.
///
/// Shapes    `dst` is the output as oneDNN knows it, batch first; where the plan knows it otherwise, it is plain there.
std::optional<operation<onednn>> prepare_pool(dnnl_engine_handle const& engine,
                                              operation_request<onednn> const& request,
                                              dnnl_alg_kind_t algorithm, dnnl_window const& w,
                                              std::vector<dnnl_dim_t> const& dst, double flops);

/// The step if it is a pool; nothing if it is none, or if the host's kernels have to do it.
///
/// Errors    backend_error for a max_pool without a fit implementation: the host has no kernels for it.
std::optional<operation<onednn>> prepare_pool(dnnl_engine_handle const& engine,
                                              operation_request<onednn> const& request);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/pooling.ipp>
#endif
