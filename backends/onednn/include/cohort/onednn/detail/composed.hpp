// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/detail/composed_kernel.hpp>
#include <cohort/onednn/backend.hpp>

namespace cohort::detail {

/// Prepares a layer whose kernels are composed of matrix products (`kind::compose`), on dense tensors of the
/// target's type.
///
/// Errors    backend_error naming the layer if oneDNN has only a reference implementation for a product.
backend_operation<onednn> prepare_composed(dnnl_target const& on, operation_request<onednn> const& request);

}  // namespace cohort::detail
