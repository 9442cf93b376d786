// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/dense.hpp>
#include <cohort/onednn/weighted.hpp>

namespace cohort::detail {

/// A dense layer takes images as they lie: its weights get the image's extents, U×C×H×W, which dense is U×n.
inline operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                 dense const& l) {
  auto const propagation = request.training ? dnnl_forward_training : dnnl_forward_inference;
  weighted_primitives const make{
      [&](memory_layout const& src, memory_layout const& weights, memory_layout const& bias, memory_layout const& dst,
          dnnl_attributes const& attributes) {
        dnnl_primitive_desc_t pd = nullptr;
        dnnl_inner_product_forward_primitive_desc_create(&pd, engine.get(), propagation, src.get(), weights.get(),
                                                         bias.get(), dst.get(), attributes.get());
        return dnnl_pd(pd);
      },
      [&](memory_layout const& diff_src, memory_layout const& weights, memory_layout const& diff_dst,
          dnnl_pd const& forward, dnnl_attributes const& attributes) {
        dnnl_primitive_desc_t pd = nullptr;
        dnnl_inner_product_backward_data_primitive_desc_create(&pd, engine.get(), diff_src.get(), weights.get(),
                                                               diff_dst.get(), forward.get(), attributes.get());
        return dnnl_pd(pd);
      },
      [&](memory_layout const& src, memory_layout const& diff_weights, memory_layout const& diff_bias,
          memory_layout const& diff_dst, dnnl_pd const& forward, dnnl_attributes const& attributes) {
        dnnl_primitive_desc_t pd = nullptr;
        dnnl_inner_product_backward_weights_primitive_desc_create(&pd, engine.get(), src.get(), diff_weights.get(),
                                                                  diff_bias.get(), diff_dst.get(), forward.get(),
                                                                  attributes.get());
        return dnnl_pd(pd);
      }};
  auto const src_any = memory_layout::tagged(batched_dims(request.input_shapes[0], request.batch));
  auto const dst_any = memory_layout::tagged(batched_dims(request.output_shape, request.batch));
  return prepare_weighted(engine, request, make, {{request.inputs[0], dst_any}, {src_any, dst_any}}, {},
                          batched_dims(request.input_shapes[0], l.units), l.flops(request.input_shapes) * request.batch);
}

}  // namespace cohort::detail
