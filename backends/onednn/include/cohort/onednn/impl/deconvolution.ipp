// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn/detail/convolution.hpp>
#include <cohort/onednn/detail/deconvolution.hpp>

namespace cohort::detail {

/// The primitives of one transposed convolution.
struct deconvolution_primitives final : window_primitives {
  using window_primitives::window_primitives;

  dnnl_pd forward(described src, described weights, described bias, described dst,
                  dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_deconvolution_forward_primitive_desc_create(
        &pd, engine, propagation, dnnl_deconvolution_direct, src.get(), weights.get(), bias.get(), dst.get(),
        w.strides, w.dilates, w.before, w.after, attributes.get());
    return dnnl_pd(pd);
  }
  dnnl_pd backward_data(described diff_src, described weights, described diff_dst, dnnl_pd const& forward,
                        dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_deconvolution_backward_data_primitive_desc_create(
        &pd, engine, dnnl_deconvolution_direct, diff_src.get(), weights.get(), diff_dst.get(), w.strides,
        w.dilates, w.before, w.after, forward.get(), attributes.get());
    return dnnl_pd(pd);
  }
  dnnl_pd backward_weights(described src, described diff_weights, described diff_bias, described diff_dst,
                           dnnl_pd const& forward, dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_deconvolution_backward_weights_primitive_desc_create(
        &pd, engine, dnnl_deconvolution_direct, src.get(), diff_weights.get(), diff_bias.get(),
        diff_dst.get(), w.strides, w.dilates, w.before, w.after, forward.get(), attributes.get());
    return dnnl_pd(pd);
  }
};

[[gnu::noinline]] backend_operation<onednn> prepare(dnnl_target const& on,
                                                    operation_request<onednn> const& request,
                                                    conv2d_transposed const& l) {
  dnnl_window const w(l.window(), request.output_shape);
  deconvolution_primitives const make(on.engine, request, w);
  layout_rule const rule(request, on.type, w, l.groups);
  return prepare_weighted(
      on, request, make, rule.forward, rule.backward_data,
      memory_layout::tagged(grouped_dims(request.parameter_specs[0].dims, l.groups), on.type),
      l.flops(request.input_shapes) * request.batch);
}

}  // namespace cohort::detail
