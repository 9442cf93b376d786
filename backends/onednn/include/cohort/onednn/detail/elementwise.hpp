// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/onednn/backend.hpp>
#include <cohort/onednn/detail/activation.hpp>
#include <optional>

namespace cohort::detail {

/// Multiplies diff_output by the derivative of `f`, in place. The derivative is computed from the output if
/// f.reads_output(), otherwise from the input. Runs in `layout`, or in the dense layout if oneDNN has only a
/// reference implementation for `layout` (for example, for padded blocks if f(0) is not 0).
///
/// Errors    backend_error naming the request's layer if there is no optimised implementation.
invocation<onednn> backward_of_activation(dnnl_engine_handle const& engine,
                                          operation_request<onednn> const& request,
                                          memory_layout const& layout, dnnl_activation const& f);

/// Prepares an activation that is not fused. Uses the input's layout or the dense layout, as
/// backward_of_activation does. Both passes may run in place.
backend_operation<onednn> prepare_activation(dnnl_engine_handle const& engine,
                                             operation_request<onednn> const& request);

/// Prepares an activation that Cohort computes itself, in the layout of its input. softplus uses the dense
/// layout if the input's layout is padded, because padding must stay zero. Returns nothing for other layers.
std::optional<backend_operation<onednn>> prepare_own_activation(operation_request<onednn> const& request);

}  // namespace cohort::detail
