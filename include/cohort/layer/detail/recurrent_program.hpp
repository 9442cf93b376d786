// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/composed_kernel.hpp>
#include <cohort/layer/detail/recurrent_cell.hpp>

namespace cohort::detail {

/// Composes a recurrent layer from a backend's matrix products and from cell functions for the processor's
/// instruction set.
composed_kernel compose_recurrent(recurrent_cell const& cell, composed_request const& request,
                                  product_backend& backend);

}  // namespace cohort::detail
