// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>

namespace cohort::detail {

/// Sums over the elements of each channel of N×C×…: each block sums one chunk, then one block adds the
/// chunks' sums of 32 channels.
///
/// Before    sums that may run concurrently have separate scratch memory (scratch_bytes).
/// Exact     sums are computed in double, in an order that depends only on the layout.
class channel_sums_on_gpu {
 public:
  channel_sums_on_gpu(shared_stream on, gpu_layout const& tensor);

  kernels::channel_terms const& terms() const { return terms_; }
  std::size_t scratch_bytes() const { return terms_.channels * terms_.chunks * sizeof(double); }

  /// Computes each channel's sum with the kernel `sums`, and sets to[c] to the sum of channel c divided by
  /// `divisor`.
  template <class Kernel>
  void run(Kernel sums, float* to, double divisor = 1) const {
    on_->launch(sums, groups_of(terms_.lanes) * terms_.chunks * sum_chunk);
    on_->launch(kernels::finish_channels{{terms_.channels, terms_.chunks}, sums.sums, to, divisor},
                groups_of(max_lanes) * sum_chunk);
  }

 private:
  static constexpr std::size_t max_lanes = 32;  // adjacent channels that one warp reads
  std::size_t groups_of(std::size_t lanes) const { return (terms_.channels + lanes - 1) / lanes; }

  shared_stream on_;
  kernels::channel_terms terms_;
};

/// Gradient of a per-channel factor of the input: Σ input·diff_output over each channel. With `not_above_0`,
/// only over elements where the input is not above 0.
///
/// Shapes    input and diff_output `layout`, diff_parameter 0 `each`.
gpu_invocation channel_factor_gradient(channel_sums_on_gpu const& sums, shape const& layout,
                                       shape const& each, bool not_above_0);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/channel_sums_on_gpu.ipp>
#endif
