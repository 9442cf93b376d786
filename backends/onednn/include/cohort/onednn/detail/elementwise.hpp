// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/onednn/backend.hpp>
#include <cohort/onednn/detail/activation.hpp>

namespace cohort::detail {

/// diff_output ← diff_output · derivative, in place, from the output or the input as the activation says; as `lies`, or
/// dense where oneDNN has `ref` alone for that (padded blocks of what is not 0 at 0).
///
/// Errors    backend_error naming the request's layer where there is no fit implementation.
invocation<onednn> backward_of_activation(dnnl_engine_handle const& engine,
                                          operation_request<onednn> const& request, memory_layout const& lies,
                                          dnnl_activation const& f);

/// An activation that stands alone, in the layout of its input or dense as above; both passes may run in place.
operation<onednn> prepare_activation(dnnl_engine_handle const& engine,
                                     operation_request<onednn> const& request);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/elementwise.ipp>
#endif
