// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/batch_sums.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// What the parts of a batch, each in the memory of one GPU, make of their channels' statistics together: the sums of
/// synchronised_batch_norm, on the processor.
///
/// Shapes    means and variances C, one behind the other, as the gradients of scale and shift are.
/// Order     each call waits for the GPU, and then for the other parts.
/// Exact     in double, from what each part has in f32.
class cross_worker_statistics {
 public:
  cross_worker_statistics(shared_stream on, kernels::channel_terms const& terms);

  /// Before    statistics are this part's.      After     those of all parts. Sums run around `running_mean`.
  void join_statistics(batch_sums& over, float* statistics, float const* running_mean) const;

  /// joined gets the sums over all parts of `sum` and `along`, in units of this part's gradients; gives the elements of a channel
  /// in all parts. `unit`: the factor of its own batch's mean that a rank's gradients have.
  double join_gradients(batch_sums& over, double unit, float const* sum, float const* along,
                        float* joined) const;

 private:
  /// This thread's own, which stay.
  static std::vector<float>& memory();
  /// Two zeros a channel, and the elements of one.
  std::vector<double>& values() const;
  void fetch(float const* from, float* to, std::size_t n) const;
  void bring(float const* from, float* to) const;

  shared_stream on_;
  std::size_t channels_;
  double count_;
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/cross_worker_statistics.ipp>
#endif
