// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/onednn/detail/elementwise.hpp>
#include <cohort/onednn/detail/primitive.hpp>

namespace cohort::detail {

COHORT_ONEDNN_INLINE dnnl_pd forward_of_activation(dnnl_engine_handle const& engine,
                                                   dnnl_prop_kind_t propagation, dnnl_alg_kind_t algorithm,
                                                   dnnl_activation const& f, memory_layout const& layout) {
  dnnl_attributes const plain;
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_eltwise_forward_primitive_desc_create(&pd, engine.get(), propagation, algorithm, layout.get(),
                                             layout.get(), f.alpha, f.beta, plain.get());
  return dnnl_pd(pd);
}

COHORT_ONEDNN_INLINE invocation<onednn> backward_of_activation(dnnl_engine_handle const& engine,
                                                               operation_request<onednn> const& request,
                                                               memory_layout const& layout,
                                                               dnnl_activation const& f) {
  auto const as = [&](memory_layout const& candidate) {
    dnnl_attributes const plain;
    dnnl_pd const hint = forward_of_activation(engine, dnnl_forward_training, f.backward, f, candidate);
    dnnl_primitive_desc_t pd = nullptr;
    if (hint)
      dnnl_eltwise_backward_primitive_desc_create(&pd, engine.get(), f.backward, candidate.get(),
                                                  candidate.get(), candidate.get(), f.alpha, f.beta,
                                                  hint.get(), plain.get());
    return dnnl_pd(pd);
  };
  dnnl_pd const backward = first_optimised(
      [&] { return as(layout); }, [&] { return as(memory_layout::dense(layout.dims(), layout.type())); });
  if (!backward) refuse_step(request, "backward (activation)");
  dnnl_argument const read = f.reads_output() ? dnnl_argument{operand_role::output, 0, DNNL_ARG_DST}
                                              : dnnl_argument{operand_role::input, 0, DNNL_ARG_SRC};
  return invoke(engine, backward,
                {read,
                 {operand_role::diff_output, 0, DNNL_ARG_DIFF_DST},
                 {operand_role::diff_output, 0, DNNL_ARG_DIFF_SRC}});
}

COHORT_ONEDNN_INLINE backend_operation<onednn> prepare_activation(dnnl_engine_handle const& engine,
                                                                  operation_request<onednn> const& request) {
  dnnl_activation const f = activation_of(*request.kind, request.fields);
  auto const as = [&](memory_layout const& layout) {
    return forward_of_activation(engine, request.training ? dnnl_forward_training : dnnl_forward_inference,
                                 f.forward, f, layout);
  };
  memory_layout const& given = request.inputs[0];
  dnnl_pd const forward = first_optimised(
      [&] { return as(given); }, [&] { return as(memory_layout::dense(given.dims(), given.type())); });
  if (!forward) refuse_step(request, "forward");
  backend_operation<onednn> made;
  made.output = layout_of(forward, DNNL_ARG_DST);
  made.overwrites = true;
  made.forward.push_back(invoke(
      engine, forward, {{operand_role::input, 0, DNNL_ARG_SRC}, {operand_role::output, 0, DNNL_ARG_DST}}));
  if (!request.training || !request.wants_diff_input[0]) return made;
  invocation<onednn> backward = backward_of_activation(engine, request, made.output, f);
  backward.operands[2].role = operand_role::diff_input;
  made.backward.push_back(std::move(backward));
  return made;
}

}  // namespace cohort::detail
