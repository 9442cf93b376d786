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

}  // namespace cohort::detail
