// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/layer/batch_sums.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// Combines the channel statistics of a batch whose parts are in the memory of different GPUs, for
/// synchronised_batch_norm. The sums over the parts are computed on the processor.
///
/// Shapes    `statistics`: C means, then C variances. `sum` and `along`: C elements each, Σ g and
///           Σ g·(normalised input), see kernels::norm_gradient_sums. `combined`: 2·C elements, `sum`, then
///           `along`.
/// Order     each call waits for the GPU, then for the corresponding calls of the other parts.
/// Exact     sums are computed in double, from each part's f32 values.
class cross_worker_statistics {
 public:
  cross_worker_statistics(shared_stream on, channel_sums_on_gpu const& sums);

  /// Replaces this part's statistics with the statistics of the whole batch: first combines the means, then
  /// the variances around the common mean.
  void join_statistics(batch_sums& over, float* statistics) const;

  /// Adds `sum` and `along` over all parts and writes the results to `combined`, multiplied by `unit`.
  /// Returns the number of elements per channel in all parts. `unit` is step_scalars::gradient_scale, the
  /// factor that this part's gradients contain.
  double join_gradients(batch_sums& over, double unit, float const* sum, float const* along,
                        float* combined) const;

 private:
  /// Returns a buffer of the calling thread, which later calls reuse.
  static std::vector<float>& memory();
  /// Returns a buffer of the calling thread: `sums` zeros, then this part's number of elements per channel.
  std::vector<double>& values(std::size_t sums) const;
  void download(float const* from, float* to, std::size_t n) const;
  void upload(float const* from, float* to) const;

  shared_stream on_;
  std::size_t channels_;
  double count_;
};

}  // namespace cohort::detail
