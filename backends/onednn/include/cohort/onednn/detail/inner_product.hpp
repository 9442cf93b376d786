// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort::detail {

/// Prepares a dense layer. It reads images in their layout: its weights have the extents U×C×H×W, which is
/// the same memory as U×n if dense. `of_steps`: the rows are the steps of sequences.
backend_operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request,
                                  dense const& l, bool of_steps = false);

}  // namespace cohort::detail
