// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/onednn/backend.hpp>
#include <vector>

namespace cohort::detail {

/// Creates the descriptors of the three primitives of a layer with weights.
///
/// Order     layouts are passed in the order src, weights, bias (empty without a bias), dst.
struct weighted_primitives {
  using described = memory_layout const&;
  virtual dnnl_pd forward(described src, described weights, described bias, described dst,
                          dnnl_attributes const& attributes) const = 0;
  virtual dnnl_pd backward_data(described diff_src, described weights, described diff_dst,
                                dnnl_pd const& forward, dnnl_attributes const& attributes) const = 0;
  virtual dnnl_pd backward_weights(described src, described diff_weights, described diff_bias,
                                   described diff_dst, dnnl_pd const& forward,
                                   dnnl_attributes const& attributes) const = 0;

 protected:
  ~weighted_primitives() = default;
};

/// Candidate layouts of a layer's input and output.
struct activation_layouts {
  memory_layout src;
  memory_layout dst;
};

/// Prepares a layer with weights. Chooses the layouts of forward, then tries them for backward: activations
/// keep their layout, and the weights' gradient has the layout of the weights. If oneDNN has no optimised
/// implementation for these layouts, oneDNN chooses others.
///
/// In bf16, the f32 parameters have the layout of their gradient, and forward also reads a working copy of
/// the weights. Forward and backward-data request the layout `weights_any`. `wanted_gradient`: layout of the
/// weights' gradient if the parameter store has not fixed it; empty if any layout is allowed. A sum is fused
/// into the kernel if oneDNN has an optimised kernel with a sum (not for convolutions by gemm); otherwise the
/// sum runs after the kernel.
///
/// Source    measured: in f32, diff_weights in the weights' layout costs nothing. Backward-data needs the
///           weights in another layout, which the parameter store keeps as a working copy.
backend_operation<onednn> prepare_weighted(dnnl_target const& on, operation_request<onednn> const& request,
                                           weighted_primitives const& make,
                                           std::vector<activation_layouts> const& candidates,
                                           std::vector<activation_layouts> const& backward_data_candidates,
                                           memory_layout const& weights_any, double flops,
                                           memory_layout const& wanted_gradient = {});

}  // namespace cohort::detail
