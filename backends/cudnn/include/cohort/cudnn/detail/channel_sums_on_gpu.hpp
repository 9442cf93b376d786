// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/cudnn/gpu_operation.hpp>

namespace cohort::detail {

/// Sums over the elements of each channel of N×C×…: blocks sum chunks, and a block for 32 channels adds these up.
///
/// Before    the scratch memory, of scratch_bytes, is used by one sum after the other.
/// Exact     in double, in an order that the layout alone settles.
class channel_sums_on_gpu {
 public:
  channel_sums_on_gpu(shared_stream on, gpu_layout const& tensor) : on_(std::move(on)) {
    terms_.channels = tensor.channels();
    terms_.area = tensor.area();
    terms_.count = tensor.elements() / terms_.channels;
    terms_.lanes = terms_.area == 1 ? std::bit_ceil(std::min<std::size_t>(terms_.channels, most_lanes)) : 1;
    std::size_t const rows = sum_chunk / terms_.lanes;
    terms_.chunks = (terms_.count + rows - 1) / rows;
  }

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
inline gpu_invocation channel_factor_gradient(channel_sums_on_gpu const& sums, shape const& lies,
                                              shape const& each, bool not_above_0) {
  using enum operand_role;
  return {[=](std::span<void* const> a) {
            sums.run(kernels::channel_product_sums{sums.terms(), tensor_at(a, 0), tensor_at(a, 1),
                                                   static_cast<double*>(a[3]), not_above_0},
                     tensor_at(a, 2));
          },
          {{input, 0, lies},
           {diff_output, 0, lies},
           {diff_parameter, 0, each},
           {scratch, 0, room_for(sums.scratch_bytes())}},
          "nvrtc",
          2 * static_cast<double>(elements_of(lies))};
}

}  // namespace cohort::detail
