// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/join.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort::detail {

/// Returns a kernel that copies a tensor from layout `from` to layout `to`. Each layout describes a whole
/// tensor or a part of a larger one.
dnnl_kernel reorder_kernel(dnnl_engine_handle const& engine, memory_layout const& from,
                           memory_layout const& to);

/// Prepares a sum in the layout of the first input, or dense if that layout is padded, because oneDNN has
/// only a reference implementation for padded layouts. Every input receives the output's gradient.
backend_operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                  add const&);

/// Prepares a concatenation of channels: in the inputs' layouts if oneDNN supports it (blocks must be
/// filled), otherwise dense. The gradient of an input is a part of the output's gradient.
backend_operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                  concatenate const&);

}  // namespace cohort::detail
