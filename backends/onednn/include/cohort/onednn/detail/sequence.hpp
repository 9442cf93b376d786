// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/backend.hpp>
#include <cohort/onednn/detail/handle.hpp>
#include <optional>

namespace cohort::detail {

/// Prepares layers on sequences T×C. oneDNN's primitives read the same memory with other extents: for a dense
/// layer or a batch norm, each step is an example; for a conv1d or a global pool, channels precede steps.
/// Returns nothing for other layers, and for layers that have to read a mask: these run in the host's
/// kernels.
///
/// Shapes    in the plan, tensors of dense layers and batch norms are dense; tensors of a convolution are
///           channels last, or in a layout that oneDNN prefers.
std::optional<backend_operation<onednn>> prepare_sequence(dnnl_target const& on,
                                                          operation_request<onednn> const& request);

}  // namespace cohort::detail
