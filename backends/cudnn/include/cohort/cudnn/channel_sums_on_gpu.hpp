// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>

namespace cohort::detail {

/// Sums over the elements of each channel of N×C×…: blocks sum chunks, and a thread a channel adds these up in their order.
///
/// Before    the scratch memory, of scratch_bytes, is used by one sum after the other.
/// Exact     in double, in an order that the shape alone settles.
class channel_sums_on_gpu {
 public:
  channel_sums_on_gpu(shared_stream on, shape const& tensor) : on_(std::move(on)) {
    terms_.channels = static_cast<kernels::size>(tensor[1]);
    terms_.area = elements_of(tensor.example()) / terms_.channels;
    terms_.count = elements_of(tensor) / terms_.channels;
    terms_.chunks = (terms_.count + sum_chunk - 1) / sum_chunk;
  }

  kernels::channel_terms const& terms() const { return terms_; }
  std::size_t scratch_bytes() const { return terms_.channels * terms_.chunks * sizeof(double); }

  /// to[c] = the sum that the kernel leaves of channel c, divided.
  template <class Kernel>
  void run(Kernel sums, float* to, double divisor = 1) const {
    on_->launch(sums, terms_.channels * terms_.chunks * sum_chunk);
    on_->launch(kernels::finish_channels{sums.sums, to, terms_.chunks, divisor}, terms_.channels);
  }

 private:
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
