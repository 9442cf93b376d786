// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <type_traits>
#include <utility>

namespace cohort::detail {

/// Walks over the elements of each channel of N×C×…: kernels/channels.inc. A sum over a channel has two
/// steps: each block sums a chunk, then blocks add the chunks' sums of four channels each. Chunks grow with
/// the tensor, which limits the number of their sums.
///
/// Before    sums that may run concurrently have separate scratch memory (scratch_bytes).
/// Exact     sums are computed in double, in an order that depends only on the layout.
class channel_sums_on_gpu {
 public:
  /// Threads process up to `most_width` (8 or 1) adjacent channels at a time.
  channel_sums_on_gpu(shared_stream on, gpu_layout const& tensor, int most_width = 8);

  kernels::channel_walk const& walked() const { return walked_; }
  std::size_t channels() const { return walked_.channels; }
  std::size_t elements_per_channel() const { return walked_.count; }
  /// Bytes for the chunks' sums, `per_channel` sums of each channel.
  std::size_t scratch_bytes(std::size_t per_channel = 1) const {
    return per_channel * walked_.channels * walked_.chunks.value * sizeof(double);
  }

  /// Enqueues a kernel for all elements. make.operator()<width>() returns the kernel that processes `width`
  /// adjacent channels per thread.
  template <class Make>
  void run(Make const& make) const {
    if (width_ == 8)
      launch(make.template operator()<8>());
    else
      launch(make.template operator()<1>());
  }
  /// Before    most_width is the kernel's width.
  template <class Kernel>
  void launch(Kernel const& kernel) const {
    on_->launch(kernel, blocks_);
  }

  /// Sets to[k][c] to sum k of channel c, divided by `divided_by`, from the chunks' sums.
  template <class... Outputs>
  void finish(void const* sums, double divided_by, Outputs*... to) const {
    on_->launch(
        kernels::finish_channels<sizeof...(to)>{
            chunks_, static_cast<double const*>(sums), {to...}, divided_by},
        finish_blocks());
  }
  /// Sets means[c] and variances[c] from the chunks' sums of channel_statistics over x.
  void finish_statistics(kernels::values const& x, void const* sums, float* means, float* variances) const;

  /// Enqueues both steps of the sums of x over each channel.
  void sum(kernels::values const& x, void* scratch, float* to) const;
  /// Enqueues both steps of the means and biased variances of x.
  void find_statistics(kernels::values const& x, void* scratch, float* means, float* variances) const;

 private:
  std::size_t finish_blocks() const { return (chunks_.channels + chunks_.lanes() - 1) / chunks_.lanes(); }

  shared_stream on_;
  kernels::channel_walk walked_{}, chunks_{};  // of the tensor, and of the chunks' sums
  int width_ = 1;
  std::size_t blocks_ = 0;
};

/// Gradient of a per-channel factor of the input: Σ input·diff_output over each channel. With `not_above_0`,
/// only over elements where the input is not above 0.
///
/// Shapes    input and diff_output `layout`, diff_parameter 0 `each`. All channels first.
gpu_invocation channel_factor_gradient(channel_sums_on_gpu const& sums, shape const& layout,
                                       shape const& each, bool not_above_0);

}  // namespace cohort::detail
