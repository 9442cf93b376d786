// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/conv2d_transposed.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort::detail {

/// Prepares a transposed convolution. The window is that of the convolution whose input is this layer's
/// output.
backend_operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request,
                                  conv2d_transposed const& l);

}  // namespace cohort::detail
