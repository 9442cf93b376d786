// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/backend.hpp>
#include <vector>

namespace cohort::detail {

/// An operand of a step, and the argument of a primitive that it is passed as.
///
/// Shapes    `whole`: the operand's layout in the plan if it differs from the primitive's: either the same
///           bytes in other extents, or a larger tensor, in which the argument begins at `offset` bytes.
struct dnnl_argument {
  operand_role role;
  int index;
  int argument;
  memory_layout whole{};
  std::size_t offset = 0;
};

/// Layout of a primitive's argument.
memory_layout layout_of(dnnl_pd const& pd, int argument);

/// Creates the primitive of a descriptor. Operands have the layouts that the descriptor chose; workspace and
/// scratchpad are included.
invocation<onednn> invoke(dnnl_engine_handle const& engine, dnnl_pd const& pd,
                          std::vector<dnnl_argument> arguments, double flops = 0);

/// Returns the first optimised descriptor, or null.
template <class... Candidate>
dnnl_pd first_optimised(Candidate const&... candidate) {
  dnnl_pd found;
  ((found = candidate(), is_optimised(found)) || ...);
  return is_optimised(found) ? std::move(found) : dnnl_pd();
}

/// Throws backend_error naming the layer, because oneDNN has no optimised implementation.
[[noreturn]] void refuse_step(operation_request<onednn> const& request, char const* pass);

/// Extents with the batch as first axis.
std::vector<dnnl_dim_t> batched_dims(shape const& s, int batch);

}  // namespace cohort::detail
