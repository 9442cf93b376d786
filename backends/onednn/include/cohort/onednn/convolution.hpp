// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv2d.hpp>
#include <cohort/onednn/weighted.hpp>
#include <vector>

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

/// Which layouts a convolution tries first; a fixed rule, so that bits do not depend on timing.
///
/// Blocks of 16 channels waste work where the channels do not fill them: such a convolution goes channels last, which
/// oneDNN runs by brgemm. Backward-data with a stride is faster in blocks all the same.
///
/// Source    measured on LeNet's second convolution (20 → 50 channels, stride 2), 16 examples, one thread of a Sapphire
///           Rapids, in µs, blocks | channels last: forward 295 | 126, weights 234 | 144, data 219 | 318.
struct layout_rule {
  std::vector<activation_layouts> forward, backward_data;

  layout_rule(operation_request<onednn> const& request, conv2d const& l) {
    auto const src = batched_dims(request.input_shapes[0], request.batch);
    auto const dst = batched_dims(request.output_shape, request.batch);
    auto const both = [&](dnnl_format_tag_t tag) {
      return activation_layouts{memory_layout::tagged(src, tag), memory_layout::tagged(dst, tag)};
    };
    constexpr int block = 16, fewest = 8;
    bool const fills_blocks = src[1] % block == 0 && dst[1] % block == 0;
    if (src[1] >= fewest && !fills_blocks) {
      forward.push_back(both(dnnl_acdb));
      if (l.stride.height > 1 || l.stride.width > 1) backward_data.push_back(both(dnnl_aBcd16b));
    }
    forward.push_back(both(dnnl_format_tag_any));
  }
};

/// The primitives of one convolution.
struct convolution_primitives final : weighted_primitives {
  dnnl_engine_t engine;
  dnnl_prop_kind_t propagation;
  dnnl_window w;

  convolution_primitives(dnnl_engine_handle const& on, operation_request<onednn> const& request,
                         conv2d const& l)
      : engine(on.get()),
        propagation(request.training ? dnnl_forward_training : dnnl_forward_inference),
        w(l.window(), request.input_shapes[0]) {}

  dnnl_pd forward(described src, described weights, described bias, described dst,
                  dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_convolution_forward_primitive_desc_create(&pd, engine, propagation, dnnl_convolution_direct,
                                                   src.get(), weights.get(), bias.get(), dst.get(), w.strides,
                                                   w.dilates, w.before, w.after, attributes.get());
    return dnnl_pd(pd);
  }
  dnnl_pd backward_data(described diff_src, described weights, described diff_dst, dnnl_pd const& forward,
                        dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_convolution_backward_data_primitive_desc_create(&pd, engine, dnnl_convolution_direct, diff_src.get(),
                                                         weights.get(), diff_dst.get(), w.strides, w.dilates,
                                                         w.before, w.after, forward.get(), attributes.get());
    return dnnl_pd(pd);
  }
  dnnl_pd backward_weights(described src, described diff_weights, described diff_bias, described diff_dst,
                           dnnl_pd const& forward, dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_convolution_backward_weights_primitive_desc_create(
        &pd, engine, dnnl_convolution_direct, src.get(), diff_weights.get(), diff_bias.get(), diff_dst.get(),
        w.strides, w.dilates, w.before, w.after, forward.get(), attributes.get());
    return dnnl_pd(pd);
  }
};

[[gnu::noinline]] inline operation<onednn> prepare(dnnl_engine_handle const& engine,
                                                   operation_request<onednn> const& request,
                                                   conv2d const& l) {
  convolution_primitives const make(engine, request, l);
  shape const weights = request.parameter_specs[0].dims;
  layout_rule const rule(request, l);
  return prepare_weighted(engine, request, make, rule.forward, rule.backward_data,
                          {weights[0], weights[1], weights[2], weights[3]},
                          l.flops(request.input_shapes) * request.batch);
}

}  // namespace cohort::detail
