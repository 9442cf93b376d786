// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/onednn/detail/weighted.hpp>
#include <vector>

namespace cohort::detail {

/// The extents of a moving window as oneDNN wants them; a dilation of 0 is none. `axes` 1: along the width alone.
struct dnnl_window {
  dnnl_dims_t size{}, strides{}, dilates{}, before{}, after{};
  bool moves_on = false;  ///< by more than one element

  dnnl_window(window const& w, shape const& input, int axes = 2);
};

/// Which layouts a convolution tries, in this order; a fixed rule, so that bits do not depend on timing, unless the request asks
/// for another way.
///
/// Blocks of 16 channels waste work where the channels do not fill them: such a convolution goes channels last, which
/// oneDNN runs by brgemm, and so does one of a single channel in bf16. Backward-data with a stride is faster in blocks all
/// the same. Groups that do not fill blocks have kernels for dense images alone.
///
/// Source    measured on LeNet's second convolution (20 → 50 channels, stride 2), 16 examples, one thread of a Sapphire
///           Rapids, in µs, blocks | channels last: forward 295 | 126, weights 234 | 144, data 219 | 318.
struct layout_rule {
  std::vector<activation_layouts> forward, backward_data;

  layout_rule(operation_request<onednn> const& request, dnnl_data_type_t type, dnnl_window const& w,
              int groups);
};

/// The canonical weights K×(C/groups)×taps, with the groups as an axis of their own where there are several.
std::vector<dnnl_dim_t> grouped_dims(shape const& weights, int groups);

[[gnu::noinline]] operation<onednn> prepare_convolution(dnnl_target const& on,
                                                        operation_request<onednn> const& request,
                                                        dnnl_window const& w, int groups, double flops);

operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request, conv2d const& l);

operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request, conv1d const& l);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/convolution.ipp>
#endif
