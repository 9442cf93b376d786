// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/cudnn/detail/cross_worker_statistics.hpp>
#include <cohort/detail/config.hpp>
#include <span>

namespace cohort::detail {

COHORT_CUDNN_INLINE cross_worker_statistics::cross_worker_statistics(shared_stream on,
                                                                     kernels::channel_terms const& terms)
    : on_(std::move(on)), channels_(terms.channels), count_(static_cast<double>(terms.count)) {}

COHORT_CUDNN_INLINE void cross_worker_statistics::join_statistics(batch_sums& over, float* statistics,
                                                                  float const* running_mean) const {
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

COHORT_CUDNN_INLINE double cross_worker_statistics::join_gradients(batch_sums& over, double unit,
                                                                   float const* sum, float const* along,
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

COHORT_CUDNN_INLINE std::vector<float>& cross_worker_statistics::memory() {
  thread_local std::vector<float> kept;
  return kept;
}

COHORT_CUDNN_INLINE std::vector<double>& cross_worker_statistics::values() const {
  thread_local std::vector<double> kept;
  kept.assign(2 * channels_ + 1, 0.0);
  kept.back() = count_;
  return kept;
}

COHORT_CUDNN_INLINE void cross_worker_statistics::fetch(float const* from, float* to, std::size_t n) const {
  on_->fetch(reinterpret_cast<std::byte const*>(from), to, n * sizeof(float));
}

COHORT_CUDNN_INLINE void cross_worker_statistics::bring(float const* from, float* to) const {
  on_->bring(from, reinterpret_cast<std::byte*>(to), 2 * channels_ * sizeof(float));
}

}  // namespace cohort::detail
