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

/// What batch and layer normalisation share: both passes, once oneDNN's descriptors are made.
///
/// Shapes    `lies`: input and output as the plan knows them, the same bytes as the descriptors'.
/// Before    oneDNN 3.2 wants the shift for layer normalisation's backward, where nothing reads it.
operation<onednn> normalisation(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                dnnl_pd const& forward, dnnl_pd const& backward, memory_layout const& lies,
                                std::vector<dnnl_argument> const& statistics, double flops);

/// With the relu behind it, if the plan fuses one: backward finds in the workspace where it let nothing through. What oneDNN
/// does not have, a leaky relu or a sum behind the norm, runs by passes of our own.
///
/// Errors    backend_error if oneDNN has no fit implementation with the relu.
std::optional<operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                         operation_request<onednn> const& request, batch_norm const& l);

/// The axes that are normalised together are one axis to oneDNN, the others another.
std::optional<operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                         operation_request<onednn> const& request, layer_norm const& l);

/// oneDNN divides α by n.
std::optional<operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                         operation_request<onednn> const& request, lrn const& l);

/// The step if it is a normalisation; nothing if it is none, or if the host's kernels have to do it.
std::optional<operation<onednn>> prepare_normalisation(dnnl_engine_handle const& engine,
                                                       operation_request<onednn> const& request);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/normalisation.ipp>
#endif
