// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/backend.hpp>
#include <vector>

namespace cohort::detail {

/// Maps an operand of a step to an argument of a primitive.
///
/// Shapes    `whole`: the operand's layout in the plan, if this layout differs from the argument's. `whole`
///           describes the same bytes with other extents, or a larger tensor in which the argument begins at
///           `offset` bytes.
struct dnnl_argument {
  operand_role role;
  int index;
  int argument;
  memory_layout whole{};
  std::size_t offset = 0;
};

/// Returns the layout of an argument (DNNL_ARG_…) of the descriptor.
memory_layout layout_of(dnnl_pd const& pd, int argument);

/// Creates the primitive of a descriptor. Operands have the layouts that the descriptor chose. Adds workspace
/// and scratchpad to `arguments`.
invocation<onednn> invoke(dnnl_engine_handle const& engine, dnnl_pd const& pd,
                          std::vector<dnnl_argument> arguments, double flops = 0);

/// Returns the first optimised descriptor, or null.
template <class... Candidate>
dnnl_pd first_optimised(Candidate const&... candidate) {
  dnnl_pd found;
  ((found = candidate(), is_optimised(found)) || ...);
  return is_optimised(found) ? std::move(found) : dnnl_pd();
}

/// Throws backend_error: oneDNN has no optimised implementation for this pass of the request's layer.
[[noreturn]] void refuse_step(operation_request<onednn> const& request, char const* pass);

/// Returns the extents of `s` with the batch as first axis.
std::vector<dnnl_dim_t> batched_dims(shape const& s, int batch);

}  // namespace cohort::detail
