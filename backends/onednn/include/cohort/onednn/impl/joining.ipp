// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn/detail/joining.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <vector>

namespace cohort::detail {

dnnl_kernel reorder_kernel(dnnl_engine_handle const& engine, memory_layout const& from,
                           memory_layout const& to) {
  dnnl_primitive_desc_t pd = nullptr;
  check_dnnl(
      dnnl_reorder_primitive_desc_create(&pd, from.get(), engine.get(), to.get(), engine.get(), nullptr),
      "describing a reorder");
  dnnl_pd const described(pd);
  dnnl_primitive_t primitive = nullptr;
  check_dnnl(dnnl_primitive_create(&primitive, pd), "making a reorder");
  dnnl_kernel made;
  made.primitive = dnnl_primitive_handle(primitive);
  made.engine = engine;
  made.arguments = {DNNL_ARG_FROM, DNNL_ARG_TO};
  made.layouts = {from, to};
  return made;
}

/// Gradient of input i of a join: copies `from`, all or a part of diff_output, to the input's layout. Accepts
/// oneDNN's reference implementation for this copy; the plan's table then shows "reorder ref:any".
invocation<onednn> gradient_of_input(dnnl_engine_handle const& engine, memory_layout const& diff_output,
                                     memory_layout const& from, memory_layout const& to, std::size_t i) {
  dnnl_kernel const kernel = reorder_kernel(engine, from, to);
  return {kernel,
          {{operand_role::diff_output, 0, diff_output}, {operand_role::diff_input, static_cast<int>(i), to}},
          "reorder " + implementation_of(kernel),
          0};
}

std::vector<const_dnnl_memory_desc_t> raw(std::vector<memory_layout> const& layouts) {
  std::vector<const_dnnl_memory_desc_t> made;
  for (memory_layout const& one : layouts) made.push_back(one.get());
  return made;
}

backend_operation<onednn> forward_of_join(dnnl_engine_handle const& engine, dnnl_pd const& pd,
                                          std::size_t inputs) {
  std::vector<dnnl_argument> arguments;
  for (std::size_t i = 0; i < inputs; ++i)
    arguments.push_back(
        {operand_role::input, static_cast<int>(i), DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i)});
  arguments.push_back({operand_role::output, 0, DNNL_ARG_DST});
  backend_operation<onednn> made;
  made.output = layout_of(pd, DNNL_ARG_DST);
  made.forward.push_back(invoke(engine, pd, std::move(arguments)));
  return made;
}

backend_operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                  add const&) {
  std::size_t const n = request.inputs.size();
  dnnl_attributes const plain;
  auto const sum_in = [&](memory_layout const& layout) {
    std::vector<memory_layout> const sources(n, layout);
    std::vector<float> const scales(n, 1.0F);
    dnnl_primitive_desc_t created = nullptr;
    dnnl_sum_primitive_desc_create(&created, engine.get(), layout.get(), static_cast<int>(n), scales.data(),
                                   raw(sources).data(), plain.get());
    return dnnl_pd(created);
  };
  memory_layout const& given = request.inputs[0];
  dnnl_pd const pd =
      first_optimised([&] { return sum_in(given); },
                      [&] { return sum_in(memory_layout::dense(given.dims(), given.type())); });
  if (!pd) refuse_step(request, "forward");
  backend_operation<onednn> made = forward_of_join(engine, pd, n);
  for (std::size_t i = 0; request.training && i < n; ++i)
    if (request.wants_diff_input[i]) made.passed_gradients.push_back(static_cast<int>(i));
  return made;
}

backend_operation<onednn> prepare(dnnl_engine_handle const& engine, operation_request<onednn> const& request,
                                  concatenate const&) {
  std::size_t const n = request.inputs.size();
  int const axis = 1 + channel_axis(request.output_shape);
  dnnl_attributes const plain;
  std::vector<memory_layout> given(request.inputs.begin(), request.inputs.end()), dense;
  for (memory_layout const& one : given) dense.push_back(memory_layout::dense(one.dims(), given[0].type()));
  auto const join = [&](std::vector<memory_layout> const& sources) {
    dnnl_primitive_desc_t created = nullptr;
    dnnl_concat_primitive_desc_create(&created, engine.get(), nullptr, static_cast<int>(n), axis,
                                      raw(sources).data(), plain.get());
    return dnnl_pd(created);
  };
  auto const part = [&](memory_layout const& whole, std::size_t i) {
    auto const dims = given[i].dims();
    dnnl_dims_t extents{}, offsets{};
    std::copy(dims.begin(), dims.end(), extents);
    for (std::size_t before = 0; before < i; ++before)
      offsets[axis] += given[before].dims()[static_cast<std::size_t>(axis)];
    dnnl_memory_desc_t created = nullptr;
    dnnl_memory_desc_create_submemory(&created, whole.get(), extents, offsets);
    return memory_layout(created);
  };
  dnnl_pd pd = join(given);
  bool keeps_layouts = is_optimised(pd);
  for (std::size_t i = 0; keeps_layouts && i < n; ++i)
    keeps_layouts = part(layout_of(pd, DNNL_ARG_DST), i).get() != nullptr;
  if (!keeps_layouts) pd = join(dense);
  if (!is_optimised(pd)) refuse_step(request, "forward");
  backend_operation<onednn> made = forward_of_join(engine, pd, n);
  for (std::size_t i = 0; request.training && i < n; ++i) {
    if (!request.wants_diff_input[i]) continue;
    memory_layout const& layout = keeps_layouts ? given[i] : dense[i];
    made.backward.push_back(gradient_of_input(engine, made.output, part(made.output, i), layout, i));
  }
  return made;
}

}  // namespace cohort::detail
