// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <omp.h>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/onednn/detail/norm_statistics.hpp>

namespace cohort::detail {

memory_layout channels_last(memory_layout const& of);

/// Batch norm by passes of our own: with a rectifier behind it, and with a sum between the two where there is a second
/// input. oneDNN has neither in training, but for relu alone.
///
/// Shapes    as the first input lies, in blocks or channels last; otherwise channels last.
/// Order     the output may lie where the second input lies, and the second input's gradient where the output's does; where
///           there is none, the first one's.
/// Moves     forward reads each input once from memory, backward what it reads and the gradients: norm_on_panels.
struct rectified_norm {
  operation_request<onednn> const& request;
  memory_layout lies = request.inputs[0];
  bool sums = request.sums;
  bool of_batch = request.training && !request.frozen;
  bool shares_gradient = sums && request.training && request.wants_diff_input[1];

  operation<onednn> prepare(batch_norm const& l);

 private:
  [[gnu::noinline]] static void add(invocation<onednn>& to, operand_role role, int index,
                                    memory_layout const& as);
  void add_statistics(invocation<onednn>& to, statistics_workspace const& memory,
                      memory_layout const& each) const;
};

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/rectified_norm.ipp>
#endif
