// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/cross_worker_statistics.hpp>

namespace cohort::detail {

cross_worker_statistics::cross_worker_statistics(shared_stream on, channel_sums_on_gpu const& sums)
    : on_(std::move(on)),
      channels_(sums.channels()),
      count_(static_cast<double>(sums.elements_per_channel())) {}

void cross_worker_statistics::join_statistics(batch_sums& over, float* statistics) const {
  std::vector<float>& staged = memory();
  staged.resize(2 * channels_);
  float *const means = staged.data(), *const variances = means + channels_;
  download(statistics, means, 2 * channels_);
  std::vector<double>& sums = values(channels_);
  for (std::size_t c = 0; c < channels_; ++c) sums[c] = count_ * static_cast<double>(means[c]);
  over.sum(sums);
  double const count = sums[channels_];
  for (std::size_t c = 0; c < channels_; ++c) {
    double const mean = sums[c] / count, apart = static_cast<double>(means[c]) - mean;
    sums[c] = count_ * (static_cast<double>(variances[c]) + apart * apart);
    means[c] = static_cast<float>(mean);
  }
  over.sum(std::span(sums).first(channels_));
  for (std::size_t c = 0; c < channels_; ++c) variances[c] = static_cast<float>(sums[c] / count);
  upload(means, statistics);
}

double cross_worker_statistics::join_gradients(batch_sums& over, double unit, float const* sum,
                                               float const* along, float* combined) const {
  std::vector<float>& staged = memory();
  staged.resize(2 * channels_);
  download(sum, staged.data(), channels_);
  download(along, staged.data() + channels_, channels_);
  std::vector<double>& sums = values(2 * channels_);
  for (std::size_t i = 0; i < 2 * channels_; ++i)
    sums[i] = unit > 0 ? static_cast<double>(staged[i]) / unit : 0;
  over.sum(sums);
  for (std::size_t i = 0; i < 2 * channels_; ++i) staged[i] = static_cast<float>(unit * sums[i]);
  upload(staged.data(), combined);
  return sums[2 * channels_];
}

std::vector<float>& cross_worker_statistics::memory() {
  thread_local std::vector<float> buffer_of_thread;
  return buffer_of_thread;
}

std::vector<double>& cross_worker_statistics::values(std::size_t sums) const {
  thread_local std::vector<double> buffer_of_thread;
  buffer_of_thread.assign(sums + 1, 0.0);
  buffer_of_thread.back() = count_;
  return buffer_of_thread;
}

void cross_worker_statistics::download(float const* from, float* to, std::size_t n) const {
  on_->download(reinterpret_cast<std::byte const*>(from), to, n * sizeof(float));
}

void cross_worker_statistics::upload(float const* from, float* to) const {
  on_->upload(from, reinterpret_cast<std::byte*>(to), 2 * channels_ * sizeof(float));
}

}  // namespace cohort::detail
