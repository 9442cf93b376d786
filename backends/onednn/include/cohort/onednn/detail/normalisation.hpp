// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/layer_norm.hpp>
#include <cohort/layer/lrn.hpp>
#include <cohort/onednn/backend.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

/// Builds both passes of a batch or layer normalisation from oneDNN's descriptors. Backward of a layer
/// normalisation gets the shift if the descriptor requires it, as in oneDNN 3.2, although the result does not
/// depend on the shift.
///
/// Shapes    `layout`: layout of input and output in the plan; it describes the same bytes as the
///           descriptors.
backend_operation<onednn> norm_operation(dnnl_engine_handle const& engine,
                                         operation_request<onednn> const& request, dnnl_pd const& forward,
                                         dnnl_pd const& backward, memory_layout const& layout,
                                         std::vector<dnnl_argument> const& statistics, double flops);

/// Prepares batch normalisation. If the plan fuses a relu, the workspace stores the relu's mask. If the plan
/// fuses a leaky relu or a sum, which oneDNN does not support, rectified_norm runs instead.
///
/// Errors    backend_error if oneDNN has no optimised implementation with the relu.
std::optional<backend_operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                                 operation_request<onednn> const& request,
                                                 batch_norm const& l);

/// Prepares layer normalisation. Its primitives process a matrix: the normalised axes form one axis, and the
/// remaining axes form the other.
std::optional<backend_operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                                 operation_request<onednn> const& request,
                                                 layer_norm const& l);

/// Prepares local response normalisation. Passes oneDNN α·n for a window of n channels: oneDNN divides α by
/// n.
std::optional<backend_operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                                 operation_request<onednn> const& request, lrn const& l);

/// Prepares a normalisation. Returns nothing if the step is not a normalisation or has to run in the host's
/// kernels.
std::optional<backend_operation<onednn>> prepare_normalisation(dnnl_engine_handle const& engine,
                                                               operation_request<onednn> const& request);

}  // namespace cohort::detail
