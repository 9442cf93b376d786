// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/max_pool.hpp>
#include <cohort/onednn/convolution.hpp>

namespace cohort::detail {

inline operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                 max_pool const& l) {
  dnnl_window const w(l.moving(), request.input_shapes[0]);
  dnnl_attributes const plain;
  auto const dims = batched_dims(request.input_shapes[0], request.batch);
  auto const dst_any = memory_layout::tagged(batched_dims(request.output_shape, request.batch));
  auto const forward_from = [&](memory_layout const& src) {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_pooling_forward_primitive_desc_create(
        &pd, engine.get(), request.training ? dnnl_forward_training : dnnl_forward_inference,
        dnnl_pooling_max, src.get(), dst_any.get(), w.strides, w.size, w.dilates, w.before, w.after,
        plain.get());
    return dnnl_pd(pd);
  };
  dnnl_pd const forward = first_fit([&] { return forward_from(request.inputs[0]); },
                                    [&] { return forward_from(memory_layout::tagged(dims, dnnl_acdb)); });
  if (!forward) refuse_step(request, "forward");
  operation<onednn> made;
  made.output = layout_of(forward, DNNL_ARG_DST);
  made.forward.push_back(invoke(
      engine, forward, {{operand_role::input, 0, DNNL_ARG_SRC}, {operand_role::output, 0, DNNL_ARG_DST}},
      l.flops(request.input_shapes) * request.batch));
  if (!request.training || !request.wants_diff_input[0]) return made;

  auto const src = layout_of(forward, DNNL_ARG_SRC);
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_pooling_backward_primitive_desc_create(&pd, engine.get(), dnnl_pooling_max, src.get(),
                                              made.output.get(), w.strides, w.size, w.dilates, w.before,
                                              w.after, forward.get(), plain.get());
  dnnl_pd const backward(pd);
  if (!is_fit(backward)) refuse_step(request, "backward");
  made.backward.push_back(invoke(
      engine, backward,
      {{operand_role::diff_output, 0, DNNL_ARG_DIFF_DST}, {operand_role::diff_input, 0, DNNL_ARG_DIFF_SRC}}));
  return made;
}

}  // namespace cohort::detail
