// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/activation.hpp>
#include <cohort/onednn/detail/normalisation.hpp>
#include <cohort/onednn/detail/rectified_norm.hpp>
#include <string_view>

namespace cohort::detail {

backend_operation<onednn> norm_operation(dnnl_engine_handle const& engine,
                                         operation_request<onednn> const& request, dnnl_pd const& forward,
                                         dnnl_pd const& backward, memory_layout const& layout,
                                         std::vector<dnnl_argument> const& statistics, double flops) {
  using enum operand_role;
  backend_operation<onednn> made;
  made.output = layout;
  for (parameter_spec const& spec : request.parameter_specs)
    made.parameters.push_back(memory_layout::dense(batched_dims(spec.dims.example(), spec.dims[0])));
  std::vector<dnnl_argument> arguments{{input, 0, DNNL_ARG_SRC, layout},
                                       {output, 0, DNNL_ARG_DST, layout},
                                       {parameter, 0, DNNL_ARG_SCALE, made.parameters[0]},
                                       {parameter, 1, DNNL_ARG_SHIFT, made.parameters[1]}};
  arguments.insert(arguments.end(), statistics.begin(), statistics.end());
  made.forward.push_back(invoke(engine, forward, std::move(arguments), flops));
  if (!request.training) return made;
  arguments = {{input, 0, DNNL_ARG_SRC, layout},
               {diff_output, 0, DNNL_ARG_DIFF_DST, layout},
               {request.wants_diff_input[0] ? diff_input : scratch, 0, DNNL_ARG_DIFF_SRC, layout},
               {parameter, 0, DNNL_ARG_SCALE, made.parameters[0]},
               {diff_parameter, 0, DNNL_ARG_DIFF_SCALE, made.parameters[0]},
               {diff_parameter, 1, DNNL_ARG_DIFF_SHIFT, made.parameters[1]}};
  constexpr int without_shift = 5;
  int inputs = 0;
  dnnl_primitive_desc_query(backward.get(), dnnl_query_num_of_inputs_s32, 0, &inputs);
  if (request.kind->name == layer_norm::kind_name && inputs > without_shift)
    arguments.push_back({parameter, 1, DNNL_ARG_SHIFT, made.parameters[1]});
  arguments.insert(arguments.end(), statistics.begin(), statistics.end());
  made.backward.push_back(invoke(engine, backward, std::move(arguments), 2 * flops));
  return made;
}

std::optional<backend_operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                                 operation_request<onednn> const& request,
                                                 batch_norm const& l) {
  using enum operand_role;
  bool const leaks = request.activation && request.activation->name == leaky_relu::kind_name;
  if (leaks || request.input_shapes.size() > 1) return rectified_norm{request}.prepare(l);
  dnnl_attributes const none;
  auto const epsilon = static_cast<float>(l.epsilon);
  bool const of_batch = request.training && !request.frozen;
  unsigned const flags = dnnl_use_scale | dnnl_use_shift
                         | (request.activation ? dnnl_fuse_norm_relu : dnnl_normalization_flags_none);
  // oneDNN's forward never computes the statistics of a batch, because it would sum in f32 without
  // subtracting an estimate of the mean.
  auto const forward_from = [&](memory_layout const& src, unsigned with = dnnl_use_global_stats) {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_batch_normalization_forward_primitive_desc_create(
        &pd, engine.get(), request.training ? dnnl_forward_training : dnnl_forward_inference, src.get(),
        src.get(), epsilon, flags | with, none.get());
    return dnnl_pd(pd);
  };
  memory_layout const given = of_batch ? panel_layout(request.inputs[0]) : request.inputs[0];
  auto const other = of_batch ? channels_last(given) : memory_layout::dense(given.dims(), given.type());
  dnnl_pd const forward =
      first_optimised([&] { return forward_from(given); }, [&] { return forward_from(other); });
  if (!forward && request.activation) refuse_step(request, "forward");
  if (!forward) return {};
  auto const layout = layout_of(forward, DNNL_ARG_SRC);
  double const flops = l.flops(request.input_shapes) * request.batch;
  dnnl_argument const running_mean{parameter, 2, DNNL_ARG_MEAN},
      running_variance{parameter, 3, DNNL_ARG_VARIANCE};
  if (!request.training)
    return norm_operation(engine, request, forward, {}, layout, {running_mean, running_variance}, flops);
  unsigned const constants = of_batch ? dnnl_normalization_flags_none : dnnl_use_global_stats;
  dnnl_pd const hint = forward_from(layout, constants);
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_batch_normalization_backward_primitive_desc_create(&pd, engine.get(), dnnl_backward, layout.get(),
                                                          layout.get(), layout.get(), epsilon,
                                                          flags | constants, hint.get(), none.get());
  dnnl_pd const backward(pd);
  if (!is_optimised(backward) && request.activation) refuse_step(request, "backward");
  if (!is_optimised(backward)) return {};
  statistics_workspace const memory(request.input_shapes[0][0],
                                    layout_of(forward, DNNL_ARG_WORKSPACE).bytes());
  if (request.frozen)
    return norm_operation(engine, request, forward, backward, layout,
                          {running_mean, running_variance, memory.dnnl_workspace()}, flops);
  backend_operation<onednn> made =
      norm_operation(engine, request, forward, backward, layout,
                     {memory.mean(), memory.variance(), memory.dnnl_workspace()}, flops);
  made.forward.insert(made.forward.begin(), batch_statistics_of(layout, memory));
  made.backward.push_back(write_statistics(request, memory, made.parameters[2]));
  return made;
}

std::optional<backend_operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                                 operation_request<onednn> const& request,
                                                 layer_norm const& l) {
  dnnl_attributes const none;
  auto const epsilon = static_cast<float>(l.epsilon);
  shape const input = request.input_shapes[0];
  dnnl_dim_t const count = l.last_axes(input).elements(), rows = request.batch * (input.elements() / count);
  auto const matrix = memory_layout::dense({rows, count}), each_row = memory_layout::dense({rows}),
             layout = memory_layout::dense(batched_dims(input, request.batch));
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_layer_normalization_forward_primitive_desc_create(
      &pd, engine.get(), request.training ? dnnl_forward_training : dnnl_forward_inference, matrix.get(),
      matrix.get(), each_row.get(), epsilon, dnnl_use_scale | dnnl_use_shift, none.get());
  dnnl_pd const forward(pd);
  if (!is_optimised(forward)) return {};
  double const flops = l.flops(request.input_shapes) * request.batch;
  if (!request.training) return norm_operation(engine, request, forward, {}, layout, {}, flops);
  pd = nullptr;
  dnnl_layer_normalization_backward_primitive_desc_create(
      &pd, engine.get(), dnnl_backward, matrix.get(), matrix.get(), matrix.get(), each_row.get(), epsilon,
      dnnl_use_scale | dnnl_use_shift, forward.get(), none.get());
  dnnl_pd const backward(pd);
  if (!is_optimised(backward)) return {};
  statistics_workspace const memory(rows);
  return norm_operation(engine, request, forward, backward, layout, {memory.mean(), memory.variance()},
                        flops);
}

std::optional<backend_operation<onednn>> prepare(dnnl_engine_handle const& engine,
                                                 operation_request<onednn> const& request, lrn const& l) {
  dnnl_attributes const none;
  auto const alpha = static_cast<float>(l.alpha * l.n), beta = static_cast<float>(l.beta),
             k = static_cast<float>(l.k);
  auto const forward_from = [&](memory_layout const& src) {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_lrn_forward_primitive_desc_create(
        &pd, engine.get(), request.training ? dnnl_forward_training : dnnl_forward_inference,
        dnnl_lrn_across_channels, src.get(), src.get(), l.n, alpha, beta, k, none.get());
    return dnnl_pd(pd);
  };
  memory_layout const& given = request.inputs[0];
  auto const dense = memory_layout::dense(given.dims(), given.type());
  dnnl_pd const forward =
      first_optimised([&] { return forward_from(given); }, [&] { return forward_from(dense); });
  if (!forward) return {};
  backend_operation<onednn> made;
  made.output = layout_of(forward, DNNL_ARG_DST);
  double const flops = l.flops(request.input_shapes) * request.batch;
  made.forward.push_back(
      invoke(engine, forward,
             {{operand_role::input, 0, DNNL_ARG_SRC}, {operand_role::output, 0, DNNL_ARG_DST}}, flops));
  if (!request.training || !request.wants_diff_input[0]) return made;
  auto const layout = layout_of(forward, DNNL_ARG_SRC);
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_lrn_backward_primitive_desc_create(&pd, engine.get(), dnnl_lrn_across_channels, layout.get(),
                                          layout.get(), layout.get(), l.n, alpha, beta, k, forward.get(),
                                          none.get());
  dnnl_pd const backward(pd);
  if (!is_optimised(backward)) return {};
  made.backward.push_back(invoke(engine, backward,
                                 {{operand_role::input, 0, DNNL_ARG_SRC},
                                  {operand_role::diff_output, 0, DNNL_ARG_DIFF_DST},
                                  {operand_role::diff_input, 0, DNNL_ARG_DIFF_SRC}},
                                 2 * flops));
  return made;
}

std::optional<backend_operation<onednn>> prepare_normalisation(dnnl_engine_handle const& engine,
                                                               operation_request<onednn> const& request) {
  std::string_view const name = request.kind->name;
  if (name == batch_norm::kind_name) return prepare(engine, request, decode<batch_norm>(request.fields));
  if (name == layer_norm::kind_name) return prepare(engine, request, decode<layer_norm>(request.fields));
  if (name == lrn::kind_name) return prepare(engine, request, decode<lrn>(request.fields));
  return {};
}

}  // namespace cohort::detail
