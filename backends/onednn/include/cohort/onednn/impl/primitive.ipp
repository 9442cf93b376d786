// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/onednn/detail/primitive.hpp>

namespace cohort::detail {

memory_layout layout_of(dnnl_pd const& pd, int argument) {
  return memory_layout::copy_of(dnnl_primitive_desc_query_md(pd.get(), dnnl_query_exec_arg_md, argument));
}

invocation<onednn> invoke(dnnl_engine_handle const& engine, dnnl_pd const& pd,
                          std::vector<dnnl_argument> arguments, double flops) {
  invocation<onednn> made;
  dnnl_primitive_t primitive = nullptr;
  check_dnnl(dnnl_primitive_create(&primitive, pd.get()), "making a primitive");
  made.kernel.primitive = dnnl_primitive_handle(primitive);
  made.kernel.engine = engine;
  auto const is_workspace = [](dnnl_argument const& a) { return a.argument == DNNL_ARG_WORKSPACE; };
  if (std::none_of(arguments.begin(), arguments.end(), is_workspace))
    arguments.push_back({operand_role::workspace, 0, DNNL_ARG_WORKSPACE});
  arguments.push_back({operand_role::scratch, 0, DNNL_ARG_SCRATCHPAD});
  for (dnnl_argument const& a : arguments) {
    memory_layout const layout = layout_of(pd, a.argument);
    if (layout.bytes() == 0) continue;
    made.kernel.arguments.push_back(a.argument);
    made.kernel.layouts.push_back(layout);
    made.kernel.offsets.push_back(a.offset);
    made.operands.push_back({a.role, a.index, a.whole.get() ? a.whole : layout});
  }
  made.implementation = implementation_of(pd.get());
  made.flops = flops;
  return made;
}

void refuse_step(operation_request<onednn> const& request, char const* pass) {
  throw backend_error(
      {.what = {"oneDNN has no fast implementation for the ", pass, " pass of this layer"},
       .where = request.name,
       .expected = "an optimised implementation (not 'ref')",
       .got = {request.kind->name, " on ", to_string(request.input_shapes[0]), ", batch ", request.batch}});
}

std::vector<dnnl_dim_t> batched_dims(shape const& s, int batch) {
  std::vector<dnnl_dim_t> dims{batch};
  for (int axis = 0; axis < s.rank; ++axis) dims.push_back(s[axis]);
  return dims;
}

}  // namespace cohort::detail
