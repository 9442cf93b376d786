// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/plan.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The bytes of a kernel's tensors: an input or a parameter counts once, diff_output as often as it is named, since who works in
/// place reads and writes it; scratch is taken to stay in a cache.
template <tensor_backend B>
double bytes_of_tensors(B const& backend, invocation<B> const& call) {
  double bytes = 0;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    auto const& one = call.operands[i];
    using enum operand_role;
    if (one.role == scratch || one.role == target || one.role == loss || one.role == scalars) continue;
    bool again = false;
    for (std::size_t k = 0; k < i && one.role != diff_output; ++k)
      again = again || (call.operands[k].role == one.role && call.operands[k].index == one.index);
    if (!again) bytes += static_cast<double>(backend.bytes(one.layout));
  }
  return bytes;
}

/// A plan's rows as it is made.
class plan_rows {
 public:
  /// A kernel that reads and writes so many bytes; returns its row.
  template <tensor_backend B>
  int add(B const& backend, std::string step, std::string implementation, pass direction, shape const& dims,
          typename B::layout const& lies, double flops, double bytes) {
    rows.push_back({.step = std::move(step),
                    .implementation = std::move(implementation),
                    .direction = direction,
                    .output = dims,
                    .layout = backend.describe(lies),
                    .flops = flops,
                    .bytes = bytes,
                    .bf16 = backend.element(lies) == element_type::bf16});
    return static_cast<int>(rows.size()) - 1;
  }
  /// One that moves or sums whole tensors that lie so: "reorder" of two, "accumulate" of three.
  template <tensor_backend B>
  int add_move(B const& backend, std::string step, pass direction, shape const& dims,
               typename B::layout const& lies, bool sums) {
    return add(backend, std::move(step), sums ? "accumulate" : "reorder", direction, dims, lies, 0,
               (sums ? 3 : 2) * static_cast<double>(backend.bytes(lies)));
  }

  std::vector<plan_row> rows;
};

}  // namespace cohort::detail
