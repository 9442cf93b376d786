// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>

namespace cohort::detail {

/// Epilogue fused after a layer. If `sums`, the last input is added. Then a rectifier multiplies values that
/// are not above 0 by `slope`; a slope of 1 means no rectifier.
struct fused_epilogue {
  bool sums;
  float slope = 1;

  explicit fused_epilogue(gpu_request const& request);
  bool rectifies() const { return slope != 1; }
};

/// Returns whether the epilogue, a rectifier or a sum, can run inside the layer's kernels. False for dense
/// layers, because cuBLASLt's rectifier may turn NaN into 0.
bool fuses_on_gpu(kind const& layer, kind const& epilogue, bool training);

/// Adds the backward passes of a fused epilogue to `made`, before the layer's own backward. First the
/// rectifier changes diff_output in place. Then diff_output is copied to the summand's gradient, unless both
/// share memory.
void add_epilogue_backward(gpu_operation& made, shared_stream const& on, gpu_request const& request,
                           fused_epilogue const& epilogue);

}  // namespace cohort::detail
