// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>

namespace cohort::detail {

/// What a step does behind its layer: it adds its last input, if it `sums`; then a rectifier bends what is below 0 by its slope, which is
/// 1 where there is none.
struct fused_behind {
  bool sums;
  float slope = 1;

  explicit fused_behind(gpu_request const& request);
  bool rectifies() const { return slope != 1; }
};

/// Whether a rectifier or a sum can run inside a layer's kernels. Dense layers' are cuBLASLt's, which may make 0 of what is no number.
bool fuses_on_gpu(kind const& layer, kind const& behind, bool training);

/// Backward of what is behind a layer: in place in diff_output, which the layer's own backward reads next; then the summand's gradient,
/// which is nothing to do where that may lie there.
void add_backward_of(gpu_operation& made, shared_stream const& on, gpu_request const& request,
                     fused_behind const& behind);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/fused_on_gpu.ipp>
#endif
