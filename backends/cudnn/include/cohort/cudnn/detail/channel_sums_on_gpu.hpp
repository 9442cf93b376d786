// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>

namespace cohort::detail {

/// Sums over the elements of each channel of N×C×…: blocks sum chunks, and a block for 32 channels adds these up.
///
/// Before    the scratch memory, of scratch_bytes, is used by one sum after the other.
/// Exact     in double, in an order that the layout alone settles.
class channel_sums_on_gpu {
 public:
  channel_sums_on_gpu(shared_stream on, gpu_layout const& tensor);

  kernels::channel_terms const& terms() const { return terms_; }
  std::size_t scratch_bytes() const { return terms_.channels * terms_.chunks * sizeof(double); }

  /// to[c] = the sum that the kernel leaves of channel c, divided.
  template <class Kernel>
  void run(Kernel sums, float* to, double divisor = 1) const {
    on_->launch(sums, groups_of(terms_.lanes) * terms_.chunks * sum_chunk);
    on_->launch(kernels::finish_channels{{terms_.channels, terms_.chunks}, sums.sums, to, divisor},
                groups_of(most_lanes) * sum_chunk);
  }

 private:
  static constexpr std::size_t most_lanes = 32;  // channels beside each other that a warp reads
  std::size_t groups_of(std::size_t lanes) const { return (terms_.channels + lanes - 1) / lanes; }

  shared_stream on_;
  kernels::channel_terms terms_;
};

/// Backward of a number a channel that input is multiplied by; `not_above_0`: only where it is not above 0.
///
/// Shapes    input and diff_output as `lies`, diff_parameter 0 as `each`.
gpu_invocation channel_factor_gradient(channel_sums_on_gpu const& sums, shape const& lies, shape const& each,
                                       bool not_above_0);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/channel_sums_on_gpu.ipp>
#endif
