// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/join.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort::detail {

/// Copies `from` to `to`. Each layout describes a whole tensor or a part of a larger one.
dnnl_kernel reorder_kernel(dnnl_engine_handle const& engine, memory_layout const& from,
                           memory_layout const& to);

/// Prepares a sum in the layout of the first input, or dense if that layout is padded, because oneDNN has
/// only a reference implementation for padded layouts. The gradient is copied to every input.
backend_operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                  add const&);

/// Prepares a concatenation of channels, in blocked layouts if the channels fill blocks, otherwise dense. The
/// gradient of an input is a part of the output's gradient.
backend_operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                  concatenate const&);

}  // namespace cohort::detail
