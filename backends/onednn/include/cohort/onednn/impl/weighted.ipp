// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn/detail/elementwise.hpp>
#include <cohort/onednn/detail/layout_candidates.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <cohort/onednn/detail/weighted.hpp>
#include <optional>

namespace cohort::detail {

/// Returns a kernel that adds the step's last input to the output in place, then applies the activation.
invocation<onednn> sum_in_place(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                memory_layout const& layout, dnnl_attributes const& activation) {
  dnnl_primitive_desc_t created = nullptr;
  check_dnnl(dnnl_binary_primitive_desc_create(&created, engine.get(), dnnl_binary_add, layout.get(),
                                               layout.get(), layout.get(), activation.get()),
             "describing a sum");
  return invoke(engine, dnnl_pd(created),
                {{operand_role::output, 0, DNNL_ARG_SRC_0},
                 {operand_role::input, static_cast<int>(request.inputs.size()) - 1, DNNL_ARG_SRC_1},
                 {operand_role::output, 0, DNNL_ARG_DST}});
}

backend_operation<onednn> prepare_weighted(dnnl_target const& on, operation_request<onednn> const& request,
                                           weighted_primitives const& make,
                                           std::vector<activation_layouts> const& candidates,
                                           std::vector<activation_layouts> const& backward_data_candidates,
                                           memory_layout const& weights_any, double flops,
                                           memory_layout const& wanted_gradient) {
  auto const dst_any = memory_layout::tagged(batched_dims(request.output_shape, request.batch), on.type);
  layout_candidate const candidate = requested_candidate(request);
  auto const weights_dims = weights_any.dims();
  auto const gradient_any =
      wanted_gradient.get() ? wanted_gradient : memory_layout::tagged(weights_dims, dnnl_f32);
  bool const has_bias = request.parameter_specs.size() > 1;
  auto const bias = has_bias ? memory_layout::dense({request.parameter_specs[1].dims[0]}) : memory_layout();
  dnnl_activation const activation =
      request.activation ? activation_of(*request.activation, request.activation_fields) : dnnl_activation{};
  auto const summand = request.sums ? dst_any : memory_layout();
  dnnl_attributes const fused(activation.forward, activation.alpha, activation.beta, summand.get()), plain;
  bool adds_after = false;

  bool const narrow = on.type != dnnl_f32;
  std::optional<memory_layout> master = request.parameters[0];
  dnnl_pd forward;
  auto const choose = [&](dnnl_attributes const& attributes) {
    for (activation_layouts const& as : candidates) {
      auto const with = [&](memory_layout const& weights) {
        return make.forward(as.src, weights, bias, as.dst, attributes);
      };
      forward = master && !narrow
                    ? first_optimised([&] { return with(*master); }, [&] { return with(weights_any); })
                    : first_optimised([&] { return with(weights_any); });
      if (forward) return;
    }
  };
  choose(fused);
  if (!forward && request.sums) {
    adds_after = true;
    choose(plain);
  }
  if (!forward) refuse_step(request, "forward");
  if (!master && !narrow) master = layout_of(forward, DNNL_ARG_WEIGHTS);

  backend_operation<onednn> made;
  made.output = layout_of(forward, DNNL_ARG_DST);
  auto const add_parameter_layouts = [&](memory_layout const& otherwise) {
    made.parameters.push_back(master ? *master : otherwise);
    if (has_bias) made.parameters.push_back(bias);
  };
  std::vector<dnnl_argument> arguments{{operand_role::input, 0, DNNL_ARG_SRC},
                                       {operand_role::parameter, 0, DNNL_ARG_WEIGHTS},
                                       {operand_role::parameter, 1, DNNL_ARG_BIAS},
                                       {operand_role::output, 0, DNNL_ARG_DST}};
  if (request.sums && !adds_after)
    arguments.push_back({operand_role::input, static_cast<int>(request.inputs.size()) - 1,
                         DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1});
  made.forward.push_back(invoke(on.engine, forward, std::move(arguments), flops));
  if (adds_after)
    made.forward.push_back(
        sum_in_place(on.engine, request, made.output,
                     dnnl_attributes(activation.forward, activation.alpha, activation.beta)));
  if (!request.training) {
    add_parameter_layouts(memory_layout::dense(weights_dims));
    return made;
  }

  if (request.activation)
    made.backward.push_back(backward_of_activation(on.engine, request, made.output, activation));
  auto const src = layout_of(forward, DNNL_ARG_SRC);
  auto const src_any = memory_layout::tagged(batched_dims(request.input_shapes[0], request.batch), on.type);
  memory_layout const gradient = master.value_or(gradient_any);
  auto const in_any = [&] {
    return make.backward_weights(src_any, gradient_any, bias, dst_any, forward, plain);
  };
  dnnl_pd const weights_pd = first_optimised(
      [&] { return candidate.weights_any ? in_any() : dnnl_pd(); },
      [&] { return make.backward_weights(src, gradient, bias, made.output, forward, plain); },
      [&] { return make.backward_weights(src, gradient_any, bias, made.output, forward, plain); }, in_any);
  if (!weights_pd) refuse_step(request, "backward (weights)");
  add_parameter_layouts(layout_of(weights_pd, DNNL_ARG_DIFF_WEIGHTS));
  made.backward.push_back(invoke(on.engine, weights_pd,
                                 {{operand_role::input, 0, DNNL_ARG_SRC},
                                  {operand_role::diff_output, 0, DNNL_ARG_DIFF_DST},
                                  {operand_role::diff_parameter, 0, DNNL_ARG_DIFF_WEIGHTS},
                                  {operand_role::diff_parameter, 1, DNNL_ARG_DIFF_BIAS}},
                                 flops));
  if (!request.wants_diff_input[0]) return made;
  dnnl_pd data_pd;
  auto const try_data = [&](memory_layout const& diff_src, memory_layout const& diff_dst) {
    if (!data_pd)
      data_pd = first_optimised(
          [&] { return make.backward_data(diff_src, weights_any, diff_dst, forward, plain); });
  };
  for (activation_layouts const& as : backward_data_candidates) try_data(as.src, as.dst);
  try_data(request.inputs[0], made.output);
  try_data(src, made.output);
  try_data(src_any, dst_any);
  if (!data_pd) refuse_step(request, "backward (data)");
  made.backward.push_back(invoke(on.engine, data_pd,
                                 {{operand_role::diff_output, 0, DNNL_ARG_DIFF_DST},
                                  {operand_role::parameter, 0, DNNL_ARG_WEIGHTS},
                                  {operand_role::diff_input, 0, DNNL_ARG_DIFF_SRC}},
                                 flops));
  return made;
}

}  // namespace cohort::detail
