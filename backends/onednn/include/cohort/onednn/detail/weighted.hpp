// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/onednn/backend.hpp>
#include <vector>

namespace cohort::detail {

/// The three primitives of a layer with weights, made by whoever knows its kind.
///
/// Order     each takes descriptors in the order src, weights, bias (empty: none), dst.
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

/// Input and output of a layer, as a candidate for its kernels.
struct activation_layouts {
  memory_layout src;
  memory_layout dst;
};

/// Convolution and dense alike: chooses the layouts of forward, then gives backward the same, so that activations keep
/// their layout and the weights' gradient lies as the weights do; where that would be slow, oneDNN chooses.
///
/// In bf16 the gradient's layout is never that of the weights: the f32 parameters lie as their gradient does, and forward has a
/// working copy too. Forward and backward-data ask for `weights_any`, which may be a layout of its own. A sum runs inside
/// the kernel where oneDNN has a fit one (not in its convolutions by gemm), else behind it.
///
/// Source    measured: diff_weights comes in the weights' layout without loss in f32; backward-data wants its own
///           weights, which the store keeps as a working copy.
operation<onednn> prepare_weighted(dnnl_target const& on, operation_request<onednn> const& request,
                                   weighted_primitives const& make,
                                   std::vector<activation_layouts> const& candidates,
                                   std::vector<activation_layouts> const& backward_data_candidates,
                                   memory_layout const& weights_any, double flops);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/weighted.ipp>
#endif
