// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv2d.hpp>
#include <cohort/onednn/weighted.hpp>

namespace cohort::detail {

/// The extents of a moving window as oneDNN wants them; a dilation of 0 is none.
struct dnnl_window {
  dnnl_dims_t size{}, strides{}, dilates{}, before{}, after{};

  dnnl_window(window const& w, shape const& input) {
    border const rows = vertical_border(w, input[1]), columns = horizontal_border(w, input[2]);
    size[0] = w.size.height, size[1] = w.size.width;
    strides[0] = w.stride.height, strides[1] = w.stride.width;
    dilates[0] = w.dilation.height - 1, dilates[1] = w.dilation.width - 1;
    before[0] = rows.before, before[1] = columns.before;
    after[0] = rows.after, after[1] = columns.after;
  }
};

inline operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                 conv2d const& l) {
  dnnl_window const w(l.window(), request.input_shapes[0]);
  auto const propagation = request.training ? dnnl_forward_training : dnnl_forward_inference;
  weighted_primitives const make{
      [&](memory_layout const& src, memory_layout const& weights, memory_layout const& bias, memory_layout const& dst,
          dnnl_attributes const& attributes) {
        dnnl_primitive_desc_t pd = nullptr;
        dnnl_convolution_forward_primitive_desc_create(&pd, engine.get(), propagation, dnnl_convolution_direct, src.get(),
                                                       weights.get(), bias.get(), dst.get(), w.strides, w.dilates,
                                                       w.before, w.after, attributes.get());
        return dnnl_pd(pd);
      },
      [&](memory_layout const& diff_src, memory_layout const& weights, memory_layout const& diff_dst,
          dnnl_pd const& forward, dnnl_attributes const& attributes) {
        dnnl_primitive_desc_t pd = nullptr;
        dnnl_convolution_backward_data_primitive_desc_create(&pd, engine.get(), dnnl_convolution_direct, diff_src.get(),
                                                             weights.get(), diff_dst.get(), w.strides, w.dilates, w.before,
                                                             w.after, forward.get(), attributes.get());
        return dnnl_pd(pd);
      },
      [&](memory_layout const& src, memory_layout const& diff_weights, memory_layout const& diff_bias,
          memory_layout const& diff_dst, dnnl_pd const& forward, dnnl_attributes const& attributes) {
        dnnl_primitive_desc_t pd = nullptr;
        dnnl_convolution_backward_weights_primitive_desc_create(&pd, engine.get(), dnnl_convolution_direct, src.get(),
                                                                diff_weights.get(), diff_bias.get(), diff_dst.get(),
                                                                w.strides, w.dilates, w.before, w.after, forward.get(),
                                                                attributes.get());
        return dnnl_pd(pd);
      }};
  shape const weights = request.parameter_specs[0].dims;
  auto const any = memory_layout::tagged(batched_dims(request.input_shapes[0], request.batch));
  return prepare_weighted(engine, request, make, {any}, {weights[0], weights[1], weights[2], weights[3]},
                          l.flops(request.input_shapes) * request.batch);
}

}  // namespace cohort::detail
