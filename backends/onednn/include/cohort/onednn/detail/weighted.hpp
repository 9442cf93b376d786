// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/onednn/backend.hpp>
#include <vector>

namespace cohort::detail {

/// The three primitives of a layer with weights, created by the layer's kind.
///
/// Order     descriptors are passed in the order src, weights, bias (empty: none), dst.
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

/// Layouts of a layer's input and output, as a candidate for its kernels.
struct activation_layouts {
  memory_layout src;
  memory_layout dst;
};

/// Prepares a layer with weights. Chooses the layouts of forward, then tries these layouts for backward:
/// activations keep their layout, and the weights' gradient has the layout of the weights. If oneDNN has no
/// optimised implementation for these, oneDNN chooses the layouts.
///
/// In bf16 the gradient never has the layout of the weights: the f32 parameters have their gradient's layout,
/// and forward reads a working copy too. Forward and backward-data request `weights_any`, which may be
/// another layout. `wanted_gradient`: layout of the weights' gradient if the store has not fixed it; empty:
/// any. A sum is fused into the kernel if oneDNN has an optimised kernel with a sum (not for convolutions by
/// gemm); otherwise the sum runs after the kernel.
///
/// Source    measured: in f32, diff_weights in the weights' layout costs nothing. Backward-data needs weights
///           in another layout, which the store keeps as a working copy.
backend_operation<onednn> prepare_weighted(dnnl_target const& on, operation_request<onednn> const& request,
                                           weighted_primitives const& make,
                                           std::vector<activation_layouts> const& candidates,
                                           std::vector<activation_layouts> const& backward_data_candidates,
                                           memory_layout const& weights_any, double flops,
                                           memory_layout const& wanted_gradient = {});

}  // namespace cohort::detail
