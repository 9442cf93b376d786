// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/activation.hpp>
#include <cohort/onednn/primitive.hpp>

namespace cohort::detail {

/// The slope of a relu or leaky relu behind its description.
inline double slope_of(kind const& k, double const* fields) {
  return k == kind_of<leaky_relu> ? decode<leaky_relu>(fields).slope : 0;
}

/// diff_output ← diff_output where output > 0, else slope·diff_output; in place, from what forward wrote.
///
/// Errors    backend_error naming the request's layer where there is no fit implementation.
inline invocation<onednn> rectifier_backward(dnnl_engine_handle const& engine,
                                             operation_request<onednn> const& request,
                                             memory_layout const& lies, double slope) {
  dnnl_attributes const plain;
  auto const alpha = static_cast<float>(slope);
  dnnl_primitive_desc_t hint = nullptr, pd = nullptr;
  check_dnnl(dnnl_eltwise_forward_primitive_desc_create(&hint, engine.get(), dnnl_forward_training,
                                                        dnnl_eltwise_relu_use_dst_for_bwd, lies.get(),
                                                        lies.get(), alpha, 0, plain.get()),
             "describing a relu");
  dnnl_pd const forward(hint);
  dnnl_eltwise_backward_primitive_desc_create(&pd, engine.get(), dnnl_eltwise_relu_use_dst_for_bwd,
                                              lies.get(), lies.get(), lies.get(), alpha, 0, forward.get(),
                                              plain.get());
  dnnl_pd const backward(pd);
  if (!is_fit(backward)) refuse_step(request, "backward (activation)");
  return invoke(engine, backward,
                {{operand_role::output, 0, DNNL_ARG_DST},
                 {operand_role::diff_output, 0, DNNL_ARG_DIFF_DST},
                 {operand_role::diff_output, 0, DNNL_ARG_DIFF_SRC}});
}

/// Relu and leaky relu that stand alone, both passes in place.
inline operation<onednn> prepare_rectifier(dnnl_engine_handle const& engine,
                                           operation_request<onednn> const& request) {
  memory_layout const& lies = request.inputs[0];
  double const slope = slope_of(*request.kind, request.fields);
  dnnl_attributes const plain;
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_eltwise_forward_primitive_desc_create(
      &pd, engine.get(), request.training ? dnnl_forward_training : dnnl_forward_inference, dnnl_eltwise_relu,
      lies.get(), lies.get(), static_cast<float>(slope), 0, plain.get());
  dnnl_pd const forward(pd);
  if (!is_fit(forward)) refuse_step(request, "forward");
  operation<onednn> made;
  made.output = lies;
  made.overwrites = true;
  made.forward.push_back(invoke(
      engine, forward, {{operand_role::input, 0, DNNL_ARG_SRC}, {operand_role::output, 0, DNNL_ARG_DST}}));
  if (!request.training || !request.wants_diff_input[0]) return made;
  invocation<onednn> backward = rectifier_backward(engine, request, lies, slope);
  backward.operands[2].role = operand_role::diff_input;
  made.backward.push_back(std::move(backward));
  return made;
}

}  // namespace cohort::detail
