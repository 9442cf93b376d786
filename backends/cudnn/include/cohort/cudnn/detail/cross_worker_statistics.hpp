// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/batch_sums.hpp>
#include <cstddef>
#include <span>
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
  cross_worker_statistics(shared_stream on, kernels::channel_terms const& terms)
      : on_(std::move(on)), channels_(terms.channels), count_(static_cast<double>(terms.count)) {}

  /// Before    statistics are this part's.      After     those of all parts. Sums run around `running_mean`.
  void join_statistics(batch_sums& over, float* statistics, float const* running_mean) const {
    std::vector<float>& here = memory();
    here.resize(3 * channels_);
    float *const means = here.data(), *const variances = means + channels_,
                 *const around = variances + channels_;
    fetch(statistics, means, 2 * channels_);
    fetch(running_mean, around, channels_);
    std::vector<double>& sums = values();
    for (std::size_t c = 0; c < channels_; ++c) {
      double const apart = static_cast<double>(means[c]) - static_cast<double>(around[c]);
      sums[c] = count_ * apart;
      sums[channels_ + c] = count_ * (static_cast<double>(variances[c]) + apart * apart);
    }
    over.sum(sums);
    double const count = sums[2 * channels_];
    for (std::size_t c = 0; c < channels_; ++c) {
      double const apart = sums[c] / count, variance = sums[channels_ + c] / count - apart * apart;
      means[c] = static_cast<float>(apart + static_cast<double>(around[c]));
      variances[c] = static_cast<float>(std::max(variance, 0.0));
    }
    bring(means, statistics);
  }

  /// joined gets the sums over all parts of `sum` and `along`, in units of this part's gradients; gives the elements of a channel
  /// in all parts. `unit`: the factor of its own batch's mean that a rank's gradients have.
  double join_gradients(batch_sums& over, double unit, float const* sum, float const* along,
                        float* joined) const {
    std::vector<float>& here = memory();
    here.resize(2 * channels_);
    fetch(sum, here.data(), channels_);
    fetch(along, here.data() + channels_, channels_);
    std::vector<double>& sums = values();
    for (std::size_t i = 0; i < 2 * channels_; ++i)
      sums[i] = unit > 0 ? static_cast<double>(here[i]) / unit : 0;
    over.sum(sums);
    for (std::size_t i = 0; i < 2 * channels_; ++i) here[i] = static_cast<float>(unit * sums[i]);
    bring(here.data(), joined);
    return sums[2 * channels_];
  }

 private:
  /// This thread's own, which stay.
  static std::vector<float>& memory() {
    thread_local std::vector<float> kept;
    return kept;
  }
  /// Two zeros a channel, and the elements of one.
  std::vector<double>& values() const {
    thread_local std::vector<double> kept;
    kept.assign(2 * channels_ + 1, 0.0);
    kept.back() = count_;
    return kept;
  }
  void fetch(float const* from, float* to, std::size_t n) const {
    on_->fetch(reinterpret_cast<std::byte const*>(from), to, n * sizeof(float));
  }
  void bring(float const* from, float* to) const {
    on_->bring(from, reinterpret_cast<std::byte*>(to), 2 * channels_ * sizeof(float));
  }

  shared_stream on_;
  std::size_t channels_;
  double count_;
};

}  // namespace cohort::detail
