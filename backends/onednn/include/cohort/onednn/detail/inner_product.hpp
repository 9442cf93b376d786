// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort::detail {

/// Prepares a dense layer. The layer reads images in their layout: its weights have the extents U×C×H×W,
/// whose dense layout equals that of U×n in memory. `of_steps`: whether the rows are steps of sequences.
backend_operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request,
                                  dense const& l, bool of_steps = false);

}  // namespace cohort::detail
