// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/batch_norm.hpp>
#include <cohort/onednn/detail/norm_statistics.hpp>

namespace cohort::detail {

/// Returns the same extents and type with channels last.
memory_layout channels_last(memory_layout const& of);

/// Returns `of` if it is blocked, otherwise channels_last(of): the layouts that norm_on_panels can process.
memory_layout panel_layout(memory_layout const& of);

/// Returns a kernel that computes means and variances of a training batch from input 0 in `layout`, which is
/// a panel_layout.
invocation<onednn> batch_statistics_of(memory_layout const& layout, statistics_workspace const& memory);

/// Batch normalisation by Cohort's passes, with a fused rectifier and, if there is a second input, a fused
/// sum before the rectifier. In training, oneDNN fuses only relu.
///
/// Shapes    the first input's layout if it is blocked, otherwise channels last.
/// Order     if the second input needs a gradient, the output may overwrite the second input, and the second
///           input's gradient may overwrite the output's gradient. Otherwise the same holds for the first
///           input.
/// Cost      reads from memory once (see norm_on_panels): in forward each input; in backward the first input,
///           the output's gradient and, if there is a sum, the output.
struct rectified_norm {
  operation_request<onednn> const& request;
  memory_layout layout = request.inputs[0];
  bool sums = request.sums;
  bool of_batch = request.training && !request.frozen;
  bool splits_gradient = sums && request.training && request.wants_diff_input[1];

  backend_operation<onednn> prepare(batch_norm const& l);

 private:
  static void add(invocation<onednn>& to, operand_role role, int index, memory_layout const& as);
  void add_statistics(invocation<onednn>& to, statistics_workspace const& memory,
                      memory_layout const& each) const;
};

}  // namespace cohort::detail
