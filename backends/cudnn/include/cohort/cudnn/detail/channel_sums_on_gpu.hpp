// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <type_traits>
#include <utility>

namespace cohort::detail {

/// Runs kernels over the elements of each channel of N×C×…, see kernels/channels.inc. A sum over a channel
/// has two steps: each block of the first kernel sums a chunk; each block of the second kernel adds the
/// chunks' sums of a few channels. The size of a chunk grows with the tensor, which limits the number of
/// chunk sums.
///
/// Before    sums that may run concurrently have separate scratch memory (scratch_bytes).
/// Exact     each thread sums in f64 or, on GPUs with few f64 units, in two f32 numbers (kernels/sums.inc).
///           The threads' sums are added in f64. The order of additions depends only on the layout.
class channel_sums_on_gpu {
 public:
  /// Threads process up to `most_width` (8 or 1) adjacent channels at a time.
  channel_sums_on_gpu(shared_stream on, gpu_layout const& tensor, int most_width = 8);

  kernels::channel_walk const& walked() const { return walked_; }
  std::size_t channels() const { return walked_.channels; }
  std::size_t elements_per_channel() const { return walked_.count; }
  /// Returns the bytes of scratch memory for the chunk sums, with `per_channel` sums per channel.
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
  /// Enqueues a kernel for all elements.
  ///
  /// Before    the kernel's width equals most_width of the constructor.
  template <class Kernel>
  void launch(Kernel const& kernel) const {
    on_->launch(kernel, blocks_);
  }

  /// Adds the chunk sums: sets to[k][c] to sum k of channel c, divided by `divided_by`.
  template <class... Outputs>
  void finish(void const* sums, double divided_by, Outputs*... to) const {
    on_->launch(
        kernels::finish_channels<sizeof...(to)>{
            chunks_, static_cast<double const*>(sums), {to...}, divided_by},
        finish_blocks());
  }
  /// Computes means[c] and variances[c] from the chunk sums of kernels::channel_statistics over x.
  void finish_statistics(kernels::values const& x, void const* sums, float* means, float* variances) const;

  /// Enqueues both steps: to[c] is the sum of x over channel c.
  void sum(kernels::values const& x, void* scratch, float* to) const;
  /// Enqueues both steps: means[c] and variances[c] are the mean and the biased variance of channel c of x.
  void find_statistics(kernels::values const& x, void* scratch, float* means, float* variances) const;

 private:
  std::size_t finish_blocks() const { return (chunks_.channels + chunks_.lanes() - 1) / chunks_.lanes(); }

  shared_stream on_;
  kernels::channel_walk walked_{}, chunks_{};  // walks over the tensor and over the chunk sums
  int width_ = 1;
  std::size_t blocks_ = 0;
};

/// Gradient of a per-channel factor of the input: Σ input·diff_output over each channel; with `not_above_0`,
/// only over elements where the input is not above 0.
///
/// Shapes    input and diff_output: `layout`, diff_parameter 0: `each`; all channels first.
gpu_invocation channel_factor_gradient(channel_sums_on_gpu const& sums, shape const& layout,
                                       shape const& each, bool not_above_0);

}  // namespace cohort::detail
