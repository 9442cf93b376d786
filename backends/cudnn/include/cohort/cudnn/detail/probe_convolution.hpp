// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/availability.hpp>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/cudnn/detail/product_precision.hpp>
#include <memory>

namespace cohort::detail {

/// Runs a small convolution with cuDNN in the given precision, and compares its output with the known result.
availability probe_convolution(std::shared_ptr<compute_stream> const& on, product_precision products);

}  // namespace cohort::detail
