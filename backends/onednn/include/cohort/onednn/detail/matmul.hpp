// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/matmul.hpp>
#include <cohort/onednn/backend.hpp>
#include <optional>

namespace cohort::detail {

/// Prepares a matrix product on dense tensors of the target's type. Returns nothing if matrices are
/// broadcast, or if oneDNN has only reference implementations.
std::optional<backend_operation<onednn>> prepare_matmul(dnnl_target const& on,
                                                        operation_request<onednn> const& request,
                                                        matmul const& l);

}  // namespace cohort::detail
