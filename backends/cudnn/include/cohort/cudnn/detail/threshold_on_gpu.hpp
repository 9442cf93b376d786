// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/cudnn/detail/gpu_list.hpp>
#include <cohort/cudnn/detail/message_on_gpu.hpp>
#include <cohort/cudnn/detail/passes_on_gpu.hpp>
#include <cohort/cudnn/detail/sparse_encoder_gpu.hpp>
#include <cohort/cudnn/detail/threshold_table_on_gpu.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What threshold_compressors do to arrays in a GPU's memory.
///
/// Moves     over PCIe messages, 2 bytes for each element of a threshold's sample, 40 a block, and single numbers.
/// Errors    backend_error, memory_error and deadline_error as compute_stream; all else is as threshold_device says.
class threshold_on_gpu final : public threshold_device {
 public:
  explicit threshold_on_gpu(std::shared_ptr<compute_stream> on)
      : on_(std::move(on)),
        arrays_(on_),
        thresholds_(on_),
        marks_(on_),
        messages_{message_on_gpu(on_), message_on_gpu(on_)},
        levels_(on_),
        found_(on_),
        sums_(on_) {}

  arena_passes& arrays() override { return arrays_; }

  bool within(std::span<float const> x, float limit) override {
    found_.resize(1);
    found_.clear();
    on_->launch(kernels::find_beyond{x.data(), std::bit_cast<unsigned>(limit), found_.data()}, x.size());
    unsigned found = 0;
    found_.fetch({&found, 1});
    return found == 0;
  }
  double clip(std::span<float> r, float limit) override {
    return summed(r.size(), [&](double* to) { return kernels::clip_residual{r.data(), limit, to}; });
  }
  double square_sum(std::span<float const> r) override {
    return summed(r.size(), [&](double* to) { return kernels::square_sums{r.data(), to}; });
  }

  void count_levels(float const* r, float const* x, element_sample const& from,
                    std::span<std::uint32_t> counts) override {
    unsigned short* const to = levels_.resize(from.size());
    on_->launch(kernels::take_levels{r, x, from.key, from.all() ? 0 : from.stride, element_sample::run, to},
                from.size());
    of_sample_.resize(from.size());
    levels_.fetch(of_sample_);
    for (unsigned short const level : of_sample_) ++counts[level];
  }

  taken take(std::span<float> r, std::span<float const> x, std::span<std::uint64_t const> ends,
             std::span<bf16 const> t) override {
    marks_.resize(r.size());
    kernels::threshold_table const table = bring(ends, t);
    on_->launch(kernels::take_threshold{r.data(), x.data(), table, marks_.sent(), marks_.negative()},
                r.size());
    return marks_.code(table, r.data());
  }

  bool read(side which, message_view const& message) override { return of(which).read(message); }
  void add(side which, message_view const& message, std::span<std::uint64_t const> ends, float scale,
           float* dense) override {
    of(which).add(message, ends, scale, dense);
  }
  taken merge(message_view const& lower, message_view const& upper, std::span<std::uint64_t const> ends,
              std::span<bf16 const> t, std::span<float> r) override {
    marks_.resize(r.size());
    marks_.clear();
    kernels::threshold_table const table = bring(ends, t);
    on_->launch(
        kernels::merge_messages{of(side::lower).merged(lower, ends), of(side::upper).merged(upper, ends),
                                table, r.data(), marks_.sent(), marks_.negative()},
        static_cast<std::size_t>(blocks_of(r.size())));
    return marks_.code(table, r.data());
  }

 private:
  message_on_gpu& of(side which) { return messages_[static_cast<std::size_t>(which)]; }

  kernels::threshold_table bring(std::span<std::uint64_t const> ends, std::span<bf16 const> t) {
    return thresholds_.bring(ends, [&](std::size_t k) { return t[k].value(); });
  }

  /// The sum over n elements by the kernel that make(where chunks' sums go) gives.
  template <class Make>
  double summed(std::size_t n, Make make) {
    if (n == 0) return 0;
    std::size_t const chunks = (n + sum_chunk - 1) / sum_chunk;
    double* const to = sums_.resize(chunks);
    on_->launch(make(to), n);
    on_->launch(kernels::add_chunks{to, chunks, 1}, std::min<std::size_t>(chunks, sum_chunk));
    double sum = 0;
    sums_.fetch({&sum, 1});
    return sum;
  }

  std::shared_ptr<compute_stream> on_;
  passes_on_gpu arrays_;
  threshold_table_on_gpu thresholds_;
  sparse_encoder_gpu marks_;
  message_on_gpu messages_[2];
  gpu_list<unsigned short> levels_;
  gpu_list<unsigned> found_;
  gpu_list<double> sums_;
  std::vector<unsigned short> of_sample_;
};

/// The passes of arenas on a GPU whose gradients can be shared by thresholds there.
class sharing_passes_on_gpu final : public passes_on_gpu, public threshold_device_source {
 public:
  explicit sharing_passes_on_gpu(std::shared_ptr<compute_stream> on)
      : passes_on_gpu(on), stream_(std::move(on)) {}
  std::shared_ptr<threshold_device> thresholds() override {
    return std::make_shared<threshold_on_gpu>(stream_);
  }

 private:
  std::shared_ptr<compute_stream> stream_;
};

}  // namespace cohort::detail
