// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/join.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort::detail {

/// from → to, both described; the whole or a part of a larger tensor.
dnnl_kernel reorder_kernel(dnnl_engine_handle const& engine, memory_layout const& from,
                           memory_layout const& to);

/// A sum in the layout of the first input, or dense where that is padded (oneDNN has `ref` alone for it); its gradient
/// is copied to every input.
operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                          add const&);

/// Joins channels; blocked layouts where they allow it, else dense ones. The gradient of an input is a part of the
/// whole.
operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                          concatenate const&);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/joining.ipp>
#endif
