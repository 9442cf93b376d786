// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/onednn/backend.hpp>
#include <cohort/onednn/detail/activation.hpp>

namespace cohort::detail {

/// diff_output ← diff_output · derivative, in place. Reads the output or the input:
/// dnnl_activation::reads_output. Runs in `layout`, or dense if oneDNN has only a reference implementation
/// for `layout` (for padded blocks if f(0) is not 0).
///
/// Errors    backend_error naming the request's layer if there is no optimised implementation.
invocation<onednn> backward_of_activation(dnnl_engine_handle const& engine,
                                          operation_request<onednn> const& request,
                                          memory_layout const& layout, dnnl_activation const& f);

/// Prepares an activation that is not fused, in the layout of its input, or dense as above. Both passes may
/// run in place.
backend_operation<onednn> prepare_activation(dnnl_engine_handle const& engine,
                                             operation_request<onednn> const& request);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/elementwise.ipp>
#endif
