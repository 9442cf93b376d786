// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/onednn/detail/weighted.hpp>
#include <vector>

namespace cohort::detail {

/// Extents of a sliding window in oneDNN's convention: a dilation of 0 is no dilation. If `axes` is 1, only
/// the extents along the width are set.
struct dnnl_window {
  dnnl_dims_t size{}, strides{}, dilates{}, before{}, after{};
  bool is_strided = false;  ///< a stride above 1

  dnnl_window(sliding_window const& w, shape const& input, int axes = 2);
};

/// Common data of the primitive factories for convolutions and transposed convolutions.
struct window_primitives : weighted_primitives {
  dnnl_engine_t engine;
  dnnl_prop_kind_t propagation;
  dnnl_window w;

  window_primitives(dnnl_engine_handle const& on, operation_request<onednn> const& request,
                    dnnl_window const& moving);

 protected:
  ~window_primitives() = default;
};

/// Layouts that a convolution tries, in order. Unless the request names another candidate, a fixed rule
/// selects the layouts, so that results do not depend on timings.
///
/// If channels do not fill blocks of 16, kernels for blocked layouts also process the padding. Therefore such
/// a convolution uses channels last, which oneDNN runs by brgemm. Conditions: no groups, and at least 8 input
/// channels (in bf16, a single input channel is also enough). With a stride above 1, backward-data uses a
/// blocked layout, which is faster in this pass. Grouped convolutions whose groups do not fill blocks have
/// kernels only for dense images. Sequences are channels last, as in the plan.
///
/// Source    measured on LeNet's second convolution (20 → 50 channels, stride 2), 16 examples, one thread of
///           a Sapphire Rapids, in µs, blocks | channels last:
///           forward 295 | 126, weights 234 | 144, data 219 | 318.
struct layout_rule {
  std::vector<activation_layouts> forward, backward_data;

  layout_rule(operation_request<onednn> const& request, dnnl_data_type_t type, dnnl_window const& w,
              int groups);
};

/// Returns the extents of the canonical weights K×(C/groups)×taps, with the groups as a separate first axis
/// if there are several.
std::vector<dnnl_dim_t> grouped_dims(shape const& weights, int groups);

/// Prepares a convolution over the given window.
backend_operation<onednn> prepare_convolution(dnnl_target const& on, operation_request<onednn> const& request,
                                              dnnl_window const& w, int groups, double flops);

backend_operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request,
                                  conv2d const& l);

/// Prepares a conv1d on sequences with channels first (C×T), see prepare_sequence.
backend_operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request,
                                  conv1d const& l);

}  // namespace cohort::detail
