// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn/detail/convolution.hpp>
#include <cohort/onednn/detail/layout_candidates.hpp>
#include <cohort/onednn/detail/primitive.hpp>

namespace cohort::detail {

dnnl_window::dnnl_window(sliding_window const& w, shape const& input, int axes) {
  border const rows = vertical_border(w, input[1]), columns = horizontal_border(w, input[2]);
  int const x = axes - 1;
  size[0] = w.size.height, size[x] = w.size.width;
  strides[0] = w.stride.height, strides[x] = w.stride.width;
  dilates[0] = w.dilation.height - 1, dilates[x] = w.dilation.width - 1;
  before[0] = rows.before, before[x] = columns.before;
  after[0] = rows.after, after[x] = columns.after;
  is_strided = w.stride.height > 1 || w.stride.width > 1;
}

window_primitives::window_primitives(dnnl_engine_handle const& on, operation_request<onednn> const& request,
                                     dnnl_window const& moving)
    : engine(on.get()),
      propagation(request.training ? dnnl_forward_training : dnnl_forward_inference),
      w(moving) {}

layout_rule::layout_rule(operation_request<onednn> const& request, dnnl_data_type_t type,
                         dnnl_window const& w, int groups) {
  auto const src = batched_dims(request.input_shapes[0], request.batch);
  auto const dst = batched_dims(request.output_shape, request.batch);
  bool const image = src.size() == 4;
  auto const both = [&](dnnl_format_tag_t tag) {
    return activation_layouts{memory_layout::tagged(src, type, tag), memory_layout::tagged(dst, type, tag)};
  };
  using order = layout_candidate::order;
  auto const in_order = [&](order one) {
    return both(one == order::last     ? (image ? dnnl_acdb : dnnl_acb)
                : one == order::blocks ? (image ? dnnl_aBcd16b : dnnl_aBc16b)
                                       : dnnl_format_tag_any);
  };
  constexpr int block = 16, fewest = 8;
  bool const fills_blocks = src[1] % block == 0 && dst[1] % block == 0;
  bool const narrow_and_single = type != dnnl_f32 && src[1] == 1;
  bool const last = !image || (groups == 1 && !fills_blocks && (src[1] >= fewest || narrow_and_single));
  layout_candidate const candidate = requested_candidate(request);
  if (candidate.forward == order::rule ? last : candidate.forward == order::last)
    forward.push_back(in_order(order::last));
  if (candidate.data == order::rule && last && w.is_strided) backward_data.push_back(in_order(order::blocks));
  if (candidate.data != order::rule && candidate.data != order::kept)
    backward_data.push_back(in_order(candidate.data));
  forward.push_back(in_order(order::any));
  if (groups > 1) forward.push_back(both(image ? dnnl_abcd : dnnl_abc));
}

std::vector<dnnl_dim_t> grouped_dims(shape const& weights, int groups) {
  if (groups == 1) return batched_dims(weights.example(), weights[0]);
  shape const each = weights.example().batched(weights[0] / groups);
  return batched_dims(each, groups);
}

/// The primitives of one convolution.
struct convolution_primitives final : window_primitives {
  using window_primitives::window_primitives;

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

[[gnu::noinline]] backend_operation<onednn> prepare_convolution(dnnl_target const& on,
                                                                operation_request<onednn> const& request,
                                                                dnnl_window const& w, int groups,
                                                                double flops) {
  convolution_primitives const make(on.engine, request, w);
  layout_rule const rule(request, on.type, w, groups);
  return prepare_weighted(
      on, request, make, rule.forward, rule.backward_data,
      memory_layout::tagged(grouped_dims(request.parameter_specs[0].dims, groups), on.type),
      flops * request.batch);
}

backend_operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request,
                                  conv2d const& l) {
  return prepare_convolution(on, request, {l.window(), request.input_shapes[0]}, l.groups,
                             l.flops(request.input_shapes));
}

backend_operation<onednn> prepare(dnnl_target const& on, operation_request<onednn> const& request,
                                  conv1d const& l) {
  shape const input = request.input_shapes[0], sequence{input[1], input[0]};
  return prepare_convolution(on, request, {l.window(), l.row(sequence), 1}, l.groups,
                             l.flops({&sequence, 1}));
}

}  // namespace cohort::detail
