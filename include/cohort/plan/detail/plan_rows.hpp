// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/plan.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Bytes of a kernel's tensors. An input or a parameter counts once. diff_output counts once for each operand
/// that refers to it, because an in-place kernel reads and writes it. Scratch memory does not count, because
/// it is assumed to remain in a cache; nor do targets, losses, scalars and masks.
template <tensor_backend B>
double bytes_of_tensors(B const& backend, invocation<B> const& call) {
  double bytes = 0;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    auto const& one = call.operands[i];
    using enum operand_role;
    if (one.role == scratch || one.role == target || one.role == loss || one.role == scalars
        || one.role == mask)
      continue;
    bool counted = false;
    for (std::size_t k = 0; k < i && one.role != diff_output; ++k)
      counted = counted || (call.operands[k].role == one.role && call.operands[k].index == one.index);
    if (!counted) bytes += static_cast<double>(backend.bytes(one.layout));
  }
  return bytes;
}

/// Collects the rows of a plan while it is compiled.
class plan_rows {
 public:
  /// Adds a kernel that reads and writes `bytes` bytes; returns the index of its row.
  template <tensor_backend B>
  int add(B const& backend, std::string step, std::string implementation, plan_pass direction,
          shape const& dims, typename B::layout const& tensor_layout, double flops, double bytes) {
    rows.push_back({.step = std::move(step),
                    .implementation = std::move(implementation),
                    .direction = direction,
                    .output = dims,
                    .layout = backend.describe(tensor_layout),
                    .flops = flops,
                    .bytes = bytes,
                    .bf16 = backend.element(tensor_layout) == element_type::bf16});
    return static_cast<int>(rows.size()) - 1;
  }
  /// Adds a kernel on whole tensors of this layout: "reorder" with two tensors, or "accumulate" with three.
  template <tensor_backend B>
  int add_move(B const& backend, std::string step, plan_pass direction, shape const& dims,
               typename B::layout const& tensor_layout, bool sums) {
    return add(backend, std::move(step), sums ? "accumulate" : "reorder", direction, dims, tensor_layout, 0,
               (sums ? 3 : 2) * static_cast<double>(backend.bytes(tensor_layout)));
  }

  std::vector<plan_row> rows;
};

}  // namespace cohort::detail
