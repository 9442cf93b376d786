// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/onednn/backend.hpp>
#include <optional>

namespace cohort::detail {

/// Returns whether `to` is the layout of Winograd-transformed weights for a convolution whose weights have
/// layout `from`.
bool is_winograd(memory_layout const& from, memory_layout const& to);

/// Returns a kernel that transforms each r×r filter g of the weights K×C×r×r to G·g·Gᵀ, and stores the
/// results as (16, C, K) in the layout of the matrix products.
dnnl_kernel winograd_weights(dnnl_engine_handle const& engine, memory_layout const& from,
                             memory_layout const& to);

/// Prepares an f32 convolution with kernels of 3×3 or 2×2 for inference by Winograd's algorithm. Returns
/// nothing for any other convolution, and if the algorithm would save no work.
///
/// Exact     equals the direct convolution up to rounding: errors are up to 2e-6 of the largest output for
///           256 channels. The 4-point transforms only add and halve.
/// Source    Lavin and Gray, Fast algorithms for convolutional neural networks, CVPR 2016.
std::optional<backend_operation<onednn>> prepare_winograd(dnnl_target const& on,
                                                          operation_request<onednn> const& request,
                                                          conv2d const& l);

}  // namespace cohort::detail
