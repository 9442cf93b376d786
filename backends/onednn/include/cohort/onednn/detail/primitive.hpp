// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/onednn/backend.hpp>
#include <vector>

namespace cohort::detail {

/// Which argument of a primitive an operand is.
///
/// Shapes    `whole`: how the operand lies where the primitive knows it otherwise, the same bytes in other extents, or by
///           a part of it, which begins `offset` bytes behind its beginning.
struct dnnl_argument {
  operand_role role;
  int index;
  int argument;
  memory_layout whole{};
  std::size_t offset = 0;
};

memory_layout layout_of(dnnl_pd const& pd, int argument);

/// The primitive of a descriptor with its operands in the layouts that it chose, workspace and scratchpad included.
invocation<onednn> invoke(dnnl_engine_handle const& engine, dnnl_pd const& pd,
                          std::vector<dnnl_argument> arguments, double flops = 0);

/// The first descriptor that is fit, or nothing.
template <class... Candidate>
dnnl_pd first_fit(Candidate const&... candidate) {
  dnnl_pd found;
  ((found = candidate(), is_fit(found)) || ...);
  return is_fit(found) ? std::move(found) : dnnl_pd();
}

[[noreturn]] void refuse_step(operation_request<onednn> const& request, char const* pass);

std::vector<dnnl_dim_t> batched_dims(shape const& s, int batch);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/primitive.ipp>
#endif
